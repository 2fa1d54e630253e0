# awk -v page=docs/x.md -v name=docs_x_md -v into=dir -f snippets.awk docs/x.md
#
# Writes each ```cpp fence of a page to dir/name_N.cpp:
#   - one that has `int main` is a program and is taken as it is;
#   - one opened as "```cpp file" holds functions or classes and follows the prelude as it is;
#   - any other is statements: its #include lines go to the top, the rest into a function of its own.

function finish(    file) {
    file = into "/" name "_" count ".cpp"
    if (is_program) {
        printf "#line %d \"%s\"\n%s", start, page, all > file
    } else {
        printf "#include \"docs/snippets_prelude.hpp\"\n%s", includes > file
        if (is_file) printf "#line %d \"%s\"\n%s", start, page, body > file
        else printf "void %s_%d();\nvoid %s_%d() {\n#line %d \"%s\"\n%s}\n", name, count, name, count, start, page, body > file
    }
    close(file)
}

!inside && /^[ \t]*```cpp([ \t].*)?$/ {
    inside = 1
    count++
    start = NR + 1
    is_program = 0
    is_file = ($0 ~ /```cpp[ \t]+file/)
    all = body = includes = ""
    next
}

inside && /^[ \t]*```[ \t]*$/ {
    finish()
    inside = 0
    next
}

inside {
    if ($0 ~ /int main/) is_program = 1
    all = all $0 "\n"
    if ($0 ~ /^[ \t]*#[ \t]*include/) {
        includes = includes $0 "\n"
        body = body "\n"
    } else {
        body = body $0 "\n"
    }
}

END {
    if (inside) {
        print page ":" start ": this fence is never closed" > "/dev/stderr"
        exit 1
    }
}
