# awk -v into=dir -f quotes.awk docs/tutorial.md
#
# Writes what a reader of the page would save and type:
#   - a fence opened as "```cpp NAME" or "```cmake NAME" to dir/files/NAME;
#   - the lines of all ```console fences to dir/transcript, "$ " before what is typed.

!inside && /^```(cpp|cmake) / { inside = into "/files/" $2; next }
!inside && /^```console$/     { inside = into "/transcript"; next }
inside && /^```$/             { inside = ""; next }
inside                        { print > inside }
