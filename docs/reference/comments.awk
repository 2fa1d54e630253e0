# awk -f comments.awk include/mortise/x.hpp: the header as Doxygen wants to read it. Doxygen reads comments that are marked
# (///, ///<); our headers have plain ones.
#   - The comment that opens a file is about the file.
#   - A comment above a declaration is about all declarations up to the next blank line, if these have none of their own.
#   - A comment behind a declaration is about that one.
#   - Lines that are indented by three blanks or more are code or a picture, unless they continue an item of a list.

function indent_of(text) { match(text, /^ */); return RLENGTH }

# Comments are Markdown. To Doxygen <format> is a tag, and the first full stop ends the brief description, inside ** too.
function prose(text) {
    gsub(/\.\*\*/, "**.", text)
    gsub(/</, "\\<", text)
    return text
}

function has_own_comment(line) { return line ~ /[;,{)}]  +\/\/ / && line !~ /^ *[#}]/ }

# Marks the block and prints it.
function print_block(    i, text, in_list, in_code, margin) {
    margin = sprintf("%*s", indent_of(block[1]), "")
    in_list = in_code = 0
    for (i = 1; i <= lines; i++) {
        text = block[i]
        sub(/^ *\/\//, "", text)
        if (text ~ /^ ? ? ?- /) in_list = 1
        else if (text ~ /^ *$/) in_list = 0
        if (!in_list && text ~ /^   +[^ ]/) {
            if (!in_code) print margin "///"
            in_code = 1
            print margin "///    " text
        } else {
            if (in_code && text !~ /^ *$/) print margin "///"
            if (text !~ /^ *$/) in_code = 0
            print margin "///" (in_code ? "" : prose(text))
        }
    }
}

function print_plain(    i) { for (i = 1; i <= lines; i++) print block[i] }

function end_group() {
    if (grouped) print margin_of_group "/// @}"
    grouped = 0
}

{
    gsub(/MORTISE_API /, "")
    sub(/namespace mortise::inline v0/, "namespace mortise")
    sub(/ *\/\/ NOLINT.*$/, "")
}

/^ *\/\// {
    if (lines == 0 && grouped) end_group()
    block[++lines] = $0
    next
}

{
    if (lines > 0) {
        if (!seen_file) {
            print "/// @file"
            print_block()
            print ""
        } else if ($0 ~ /^ *$/ || $0 ~ /^ *[#}]/ || $0 ~ /^ *(public|private):/ || $0 ~ /^ *namespace/) {
            print_plain()
        } else {
            print_block()
            # A group: members of a class and functions, not what opens a class itself.
            if ($0 !~ /^ *(class|struct|enum) / && !has_own_comment($0)) {
                margin_of_group = sprintf("%*s", indent_of($0), "")
                print margin_of_group "/// @{"
                grouped = 1
            }
        }
        lines = 0
    }
    seen_file = 1
    if ($0 ~ /^ *$/ || $0 ~ /^ *(public|private):/ || (grouped && $0 ~ /^ *}/ && indent_of($0) < length(margin_of_group))) end_group()
    if (has_own_comment($0)) sub(/  +\/\/ /, "  ///< ")
    print
}

END { end_group() }
