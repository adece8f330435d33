#!/usr/bin/python3
"""completion.py PROGRAM bash|zsh|fish: the completion script of a program, from what option_table prints.

What an argument can be is told by its name in the table: FILE and SRC are files, DIR and DST folders, an option with
choices has these. Of all others the shell knows nothing; completing never asks a server.
"""

import collections
import sys

Command = collections.namedtuple("Command", "name arguments help")
Option = collections.namedtuple("Option", "letter name argument repeatable commands choices help")

SEVERAL = "see '--help' of each"  # what a word is that is only the first of several commands
FILES, FOLDERS = ("FILE", "PATH", "SRC"), ("DIR", "DST")


def read_table(file):
    commands, options = [], []
    for line in file:
        kind, *fields = line.rstrip("\n").split("\t")
        if kind == "command":
            commands.append(Command(fields[0], fields[1].split(), fields[2]))
        else:
            letter, name, argument, repeatable, of, choices, text = fields
            options.append(Option(letter, name, argument, repeatable == "repeatable", parts(of), parts(choices), text))
    return commands, options


def parts(text):
    return text.split(",") if text else []


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
    """(command, place, whether also behind it, kind) of each argument that is a file or folder."""
    return [(command.name, place, argument.endswith("..."), kind_of(argument)) for command in commands
            for place, argument in enumerate(command.arguments) if kind_of(argument)]


def double(commands):
    """The commands of two words."""
    return [command for command in commands if " " in command.name]


def stages(commands):
    """The first words as commands, those of two words once each; then these."""
    heads = {}
    for command in commands:
        first, _, second = command.name.partition(" ")
        if not second:
            heads[first] = command
        elif first not in heads:
            heads[first] = Command(first, [], SEVERAL)
    return list(heads.values()), double(commands)


def second_words(commands, head):
    return [command.name.partition(" ")[2] for command in double(commands) if command.name.startswith(head.name + " ")]


def goes_with(option, command):
    """Whether an option may stand where so much of a command is known: all of it, or the first word of several."""
    return any(name == command.name or (command.help == SEVERAL and name.startswith(command.name + " "))
               for name in option.commands)


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
            case $command,$count,${COMP_WORDS[i]} in
                ,*) command=${COMP_WORDS[i]} ;;
@DOUBLE@
                *) ((count++)) ;;
            esac
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

    def words(command):
        return quote(" ".join(flag for o in options if command is None or goes_with(o, command) for flag in flags(o)))

    heads, pairs = stages(commands)
    return fill(BASH, program, {
        "DOUBLE": lines(16, [f"{c.name.replace(' ', ',0,')}) command+=\" ${{COMP_WORDS[i]}}\" ;;" for c in pairs]),
        "WITH_ARGUMENT": " | ".join(with_argument(options)),
        "VALUES": lines(8, [f"{' | '.join(flags(o))}) {values(o)}" for o in options if o.argument]),
        "OPTIONS": lines(12, [f"{quote(c.name)}) words={words(c)} ;;" for c in heads + pairs] + [f"*) words={words(None)} ;;"]),
        "COMMANDS": quote(" ".join(c.name for c in heads)),
        "ARGUMENTS": lines(12, [f"{quote(name)},{'*' if more else place}) _{program}_files {'-f' if kind == 'file' else '-d'} "
                                '"$current"; return ;;' for name, place, more, kind in local_arguments(commands)]
                           + [f"{h.name},0) words={quote(' '.join(second_words(commands, h)))} ;;"
                              for h in heads if second_words(commands, h)]),
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
    heads, pairs = stages(commands)

    def arguments_call(command, rest, indent):
        specs = [zsh_option(o) for o in options if goes_with(o, command)] + rest
        return [indent + "    " + spec + (" \\" if spec is not specs[-1] else "") for spec in specs]

    def plain_case(command, name, indent):
        body = arguments_call(command, zsh_arguments(command), indent + "    ")
        return [f"{indent}{name})", f"{indent}    _arguments -S : \\"] + body[:-1] + [body[-1] + " ;;"]

    def head_case(head):
        words = second_words(commands, head)
        if not words:
            return plain_case(head, head.name, "")
        rest = [quote(f"1:command:({' '.join(words)})"), quote("*::argument:->second")]
        cases = [line for c in pairs if c.name.startswith(head.name + " ")
                 for line in plain_case(c, c.name.partition(" ")[2], "        ")]
        return ([f"{head.name})", "    _arguments -C -S -A '-*' : \\"] + arguments_call(head, rest, "    ")
                + ["    [[ $state != second ]] || case $words[1] in"] + cases + ["    esac ;;"])

    specs = [zsh_option(o) for o in options]
    if not commands:
        return fill(ZSH_PLAIN, program, {"ALL": " \\\n".join("    " + spec for spec in specs)})
    return fill(ZSH_COMMANDS, program, {
        "COMMANDS": lines(8, [quote(f"{c.name}:{c.help}") for c in heads]),
        "ALL": lines(8, [spec + " \\" for spec in specs]),
        "ARGUMENTS": lines(16, [line for head in heads for line in head_case(head)]),
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

# The command among them, which may have two words.
function __@PROGRAM@_command
    set -l words (__@PROGRAM@_words)
    if contains -- "$words[1..2]" @DOUBLE@
        echo "$words[1..2]"
    else
        echo $words[1]
    end
end

# Whether the option may stand here: with these commands, or no command yet.
function __@PROGRAM@_goes_with
    set -l command (__@PROGRAM@_command)
    test -z "$command"; or contains -- $command $argv
end

# Whether the cursor is at this argument of this command, counted from 0, or with a third word behind it.
function __@PROGRAM@_argument
    set -l command (__@PROGRAM@_command)
    set -l place (math (count (__@PROGRAM@_words)) - (count (string split ' ' -- "$command")))
    test "$command" = $argv[1]; or return
    test $place = $argv[2]; or test -n "$argv[3]" -a $place -gt $argv[2]
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
    heads, pairs = stages(commands)

    def option_line(option):
        parts_of_line = [f"complete -c {program}"]
        if commands:
            names = " ".join('"' + c.name + '"' for c in heads + pairs if goes_with(option, c))
            parts_of_line.append(f"-n '__{program}_goes_with {names}'")
        if option.letter:
            parts_of_line.append(f"-s {option.letter}")
        parts_of_line += [f"-l {option.name}", f"-d {fish_quote(option.help)}"]
        if option.choices:
            parts_of_line.append(f"-x -a {fish_quote(' '.join(option.choices))}")
        elif option.argument:
            parts_of_line.append({"file": "-r -F", "folder": FISH_FOLDERS, None: "-x"}[kind_of(option.argument)])
        return " ".join(parts_of_line)

    def word_line(condition, word, text):
        return f"complete -c {program} -n '{condition}' -a {word} -d {fish_quote(text)}"

    return fill(FISH_COMMANDS if commands else FISH_PLAIN, program, {
        "WITH_ARGUMENT": " ".join(with_argument(options)),
        "DOUBLE": " ".join(fish_quote(c.name) for c in pairs),
        "COMMANDS": lines(0, [word_line(f"test (count (__{program}_words)) = 0", c.name, c.help) for c in heads]
                          + [word_line(f"__{program}_argument {first} 0", second, c.help)
                             for c in pairs for first, second in [c.name.split()]]),
        "ARGUMENTS": lines(0, [f"complete -c {program} -n '__{program}_argument \"{name}\" {place}{' more' if more else ''}' "
                               + ("-F" if kind == "file" else FISH_FOLDERS)
                               for name, place, more, kind in local_arguments(commands)]),
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
