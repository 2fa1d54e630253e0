# Completion of mortise(1) for bash. A test holds it to the verbs and options of the command.

_mortise() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} i
    local everywhere='--store --store-file --require-store --patience --json --verbose --help'
    local claim='--nonblock --wait --shared --exclusive --permits --conflict-exit-code --lease --label'

    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W 'run once elect hold acquire renew release list show watch break doctor schema bench lab --help --version' -- "$word"))
        return
    fi
    # After --, it is somebody else's command line.
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [ "${COMP_WORDS[i]}" = -- ] && [[ $verb == run || $verb == once || $verb == elect ]]; then
            if ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi
            return
        fi
    done
    case $before in
        --store-file | --svg | --html) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --store) COMPREPLY=($(compgen -W 'host: memory:' -- "$word")); return ;;
    esac
    case $word in
        -*)
            local options=
            case $verb in
                run) options="$claim --no-renew --command --close --metrics" ;;
                once) options='--every --slack --conflict-exit-code --lease --label --command --close' ;;
                elect) options='--lease --label --command --metrics' ;;
                hold) options="$claim --no-renew --metrics" ;;
                acquire) options=$claim ;;
                renew) options='--id --lease' ;;
                release) options='--id' ;;
                watch) options='--for' ;;
                break) options='--token --why' ;;
                lab) options='--all --form --svg --html --lang --allow-non-empty' ;;
                bench) options='--compare --seconds --svg --quick --check' ;;
            esac
            COMPREPLY=($(compgen -W "$options $everywhere" -- "$word"))
            ;;
        *)
            case $verb in
                lab) ((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W 'run' -- "$word")) ;;
                bench) COMPREPLY=($(compgen -W 'uncontended parallel contended processes readers handoff holding crowd' -- "$word")) ;;
            esac
            ;;
    esac
}
complete -F _mortise mortise
