#!/usr/bin/python3
"""completion.py PROGRAM bash|zsh|fish: the completion script of a program, from what option_table prints.

What an argument can be is told by its name in the table: FILE and SRC are files, DIR and DST folders, an option with
choices has these. Of all others the shell knows nothing; completing never asks a server.
"""

import collections
import sys

Command = collections.namedtuple("Command", "name arguments help")
Option = collections.namedtuple("Option", "letter name argument repeatable commands choices help")

FILES, FOLDERS = ("FILE", "SRC"), ("DIR", "DST")


def read_table(file):
    commands, options = [], []
    for line in file:
        kind, *fields = line.rstrip("\n").split("\t")
        if kind == "command":
            commands.append(Command(fields[0], fields[1].split(), fields[2]))
        else:
            letter, name, argument, repeatable, of, choices, text = fields
            options.append(Option(letter, name, argument, repeatable == "repeatable", of.split(), choices.split(), text))
    return commands, options


def kind_of(argument):
    word = argument.strip("[].")
    return "file" if word in FILES else "folder" if word in FOLDERS else None


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def flags(option):
    return (["-" + option.letter] if option.letter else []) + ["--" + option.name]


def with_argument(options):
    return [flag for option in options if option.argument for flag in flags(option)]


def local_arguments(commands):
    """(command, place, kind) of each argument that is a file or folder."""
    return [(command.name, place, kind_of(argument)) for command in commands
            for place, argument in enumerate(command.arguments) if kind_of(argument)]


# ---- bash ----

BASH = r"""# bash completion of @PROGRAM@; made from its table of options.

_@PROGRAM@_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_@PROGRAM@()
{
    local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command='' count=0 ended='' words i
    # bash takes "--io=direct" for three words.
    if [[ $current == '=' ]]; then
        current=
    elif [[ $option == '=' ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ $ended || ${COMP_WORDS[i]} != -* ]]; then
            if [[ $command ]]; then ((count++)); else command=${COMP_WORDS[i]}; fi
            continue
        fi
        case ${COMP_WORDS[i]} in
            --) ended=1 ;;
            @WITH_ARGUMENT@)
                [[ ${COMP_WORDS[i + 1]} != '=' ]] || ((i++))
                ((i++)) ;;
        esac
    done
    COMPREPLY=()
    [[ $ended ]] || case $option in
@VALUES@
    esac
    if [[ ! $ended && $current == -* ]]; then
        case $command in
@OPTIONS@
        esac
    elif [[ ! $command ]]; then
        words=@COMMANDS@
    else
        case $command,$count in
@ARGUMENTS@
            *) return ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _@PROGRAM@ @PROGRAM@
"""


def bash(program, commands, options):
    def values(option):
        if option.choices:
            return f"mapfile -t COMPREPLY < <(compgen -W {quote(' '.join(option.choices))} -- \"$current\"); return ;;"
        return {"file": f'_{program}_files -f "$current"; return ;;', "folder": f'_{program}_files -d "$current"; return ;;',
                None: "return ;;"}[kind_of(option.argument)]

    def words(of):
        return quote(" ".join(flag for option in options if of is None or of in option.commands for flag in flags(option)))

    return fill(BASH, program, {
        "WITH_ARGUMENT": " | ".join(with_argument(options)),
        "VALUES": lines(8, [f"{' | '.join(flags(o))}) {values(o)}" for o in options if o.argument]),
        "OPTIONS": lines(12, [f"{c.name}) words={words(c.name)} ;;" for c in commands] + [f"*) words={words(None)} ;;"]),
        "COMMANDS": quote(" ".join(c.name for c in commands)),
        "ARGUMENTS": lines(12, [f"{name},{place}) _{program}_files {'-f' if kind == 'file' else '-d'} \"$current\"; return ;;"
                                for name, place, kind in local_arguments(commands)]),
    })


# ---- zsh ----

ZSH_COMMANDS = r"""#compdef @PROGRAM@
# zsh completion of @PROGRAM@; made from its table of options.

_@PROGRAM@()
{
    local curcontext=$curcontext state line
    typeset -A opt_args
    local -a commands=(
@COMMANDS@
    )
    # Behind the command its own options, not these.
    _arguments -C -S -A '-*' : \
@ALL@
        '1:command:->command' '*::argument:->argument'
    case $state in
        command) _describe command commands ;;
        argument)
            case $words[1] in
@ARGUMENTS@
            esac ;;
    esac
}

_@PROGRAM@ "$@"
"""

ZSH_PLAIN = r"""#compdef @PROGRAM@
# zsh completion of @PROGRAM@; made from its table of options.

_arguments -S : \
@ALL@
"""


def zsh_value(argument, choices=(), unknown=" "):
    if choices:
        return f":{argument}:({' '.join(choices)})"
    name = argument.replace(":", "\\:").replace("[", "\\[").replace("]", "\\]")
    return f":{name}:" + {"file": "_files", "folder": "_files -/", None: unknown}[kind_of(argument)]


def zsh_option(option):
    text = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    value = zsh_value(option.argument, option.choices) if option.argument else ""
    long = "--" + option.name + ("=" if option.argument else "")
    before = "*" if option.repeatable else f"({' '.join(flags(option))})"
    if not option.letter:
        return quote(f"{before}{long}[{text}]{value}")
    short = "-" + option.letter + ("+" if option.argument else "")
    return quote(before) + "{" + short + "," + long + "}" + quote(f"[{text}]{value}")


def zsh_arguments(command):
    specs = []
    for place, argument in enumerate(command.arguments):
        where = "*" if argument.endswith("...") else f"{place + 1}"
        optional = ":" if argument.startswith("[") else ""
        # No message, which would stand in the way where the one candidate is an option.
        specs.append(quote(where + optional + zsh_value(argument, unknown="()")))
    return specs


def zsh(program, commands, options):
    def command_case(command):
        specs = [zsh_option(o) for o in options if command.name in o.commands] + zsh_arguments(command)
        return [f"{command.name})", "    _arguments -S : \\"] + \
            [f"        {spec} \\" for spec in specs[:-1]] + [f"        {specs[-1]} ;;"]

    specs = [zsh_option(o) for o in options]
    if not commands:
        return fill(ZSH_PLAIN, program, {"ALL": " \\\n".join("    " + spec for spec in specs)})
    return fill(ZSH_COMMANDS, program, {
        "COMMANDS": lines(8, [quote(f"{c.name}:{c.help}") for c in commands]),
        "ALL": lines(8, [spec + " \\" for spec in specs]),
        "ARGUMENTS": lines(16, [line for c in commands for line in command_case(c)]),
    })


# ---- fish ----

FISH_COMMANDS = r"""# fish completion of @PROGRAM@; made from its table of options.

# The words before the cursor that are neither options nor their values: the command, then its arguments.
function __@PROGRAM@_words
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case @WITH_ARGUMENT@
                set skip 1
            case '-*'
            case '*'
                echo $word
        end
    end
end

# Whether the option may stand here: with these commands, or no command yet.
function __@PROGRAM@_goes_with
    set -l words (__@PROGRAM@_words)
    test -z "$words[1]"; or contains -- $words[1] $argv
end

# Whether the cursor is at this argument of this command, counted from 0.
function __@PROGRAM@_argument
    set -l words (__@PROGRAM@_words)
    test "$words[1]" = $argv[1]; and test (count $words) = (math $argv[2] + 1)
end

complete -c @PROGRAM@ -f
@COMMANDS@
@ARGUMENTS@
@OPTIONS@
"""

FISH_PLAIN = r"""# fish completion of @PROGRAM@; made from its table of options.

complete -c @PROGRAM@ -f
@OPTIONS@
"""

FISH_FOLDERS = "-x -a '(__fish_complete_directories)'"


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(program, commands, options):
    def option_line(option):
        parts = [f"complete -c {program}"]
        if commands:
            parts.append(f"-n '__{program}_goes_with {' '.join(option.commands)}'")
        if option.letter:
            parts.append(f"-s {option.letter}")
        parts += [f"-l {option.name}", f"-d {fish_quote(option.help)}"]
        if option.choices:
            parts.append(f"-x -a {fish_quote(' '.join(option.choices))}")
        elif option.argument:
            parts.append({"file": "-r -F", "folder": FISH_FOLDERS, None: "-x"}[kind_of(option.argument)])
        return " ".join(parts)

    return fill(FISH_COMMANDS if commands else FISH_PLAIN, program, {
        "WITH_ARGUMENT": " ".join(with_argument(options)),
        "COMMANDS": lines(0, [f"complete -c {program} -n 'test (count (__{program}_words)) = 0' -a {c.name} "
                              f"-d {fish_quote(c.help)}" for c in commands]),
        "ARGUMENTS": lines(0, [f"complete -c {program} -n '__{program}_argument {name} {place}' "
                               + ("-F" if kind == "file" else FISH_FOLDERS)
                               for name, place, kind in local_arguments(commands)]),
        "OPTIONS": lines(0, [option_line(o) for o in options]),
    })


def lines(indent, texts):
    return "\n".join(" " * indent + text for text in texts)


def fill(frame, program, parts):
    for name, text in parts.items():
        frame = frame.replace(f"@{name}@", text)
    return frame.replace("@PROGRAM@", program)


def main():
    program, shell = sys.argv[1:]
    commands, options = read_table(sys.stdin)
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[shell](program, commands, options))


if __name__ == "__main__":
    main()
