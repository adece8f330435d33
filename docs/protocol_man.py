#!/usr/bin/python3
"""protocol_man.py PAGE.md: docs/protocol.md as the man page mstore-protocol(7), so that there is one text.

Knows what that page uses of Markdown: headings, paragraphs, lists, tables, indented code, `code`, *emphasis*,
**strong**. Anything else would stand in the man page as it is.
"""

import re
import sys
import textwrap

HEAD = """\
'\\" t
.Dd November 30, 2026
.Dt MSTORE-PROTOCOL 7
.Os
.Sh NAME
.Nm mstore-protocol
.Nd how mstore and mstored talk to each other
.Sh DESCRIPTION"""

TAIL = """\
.Sh SEE ALSO
.Xr mstore 1 ,
.Xr mstored 8"""

WIDTH = 78
# Wider columns of a table are wrapped.
COLUMN = 26
# Stands for a space where a line may not break.
BLANK = "\0"


def plain(text):
    """Text for roff: no escapes, no other characters than ASCII."""
    text = text.replace("\\", "\\e")
    text = text.replace("? ", "?\\& ") # an optional field, not the end of a sentence
    return "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in text)


def code(text):
    return "\\fB" + plain(text).replace("-", "\\-") + "\\fP"


def inline(text):
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)", text)
    out = []
    for part in parts:
        if part.startswith("`") and len(part) > 1:
            out.append(code(part[1:-1]))
        elif part.startswith("**"):
            out.append("\\fB" + plain(part[2:-2]) + "\\fP")
        elif part.startswith("*") and len(part) > 1:
            out.append("\\fI" + plain(part[1:-1]) + "\\fP")
        else:
            out.append(plain(part))
    return "".join(out)


def guard(line):
    """A line of text that roff cannot take for a request."""
    return "\\&" + line if line.startswith((".", "'")) else line


def prose(text):
    """Lines of a paragraph, each sentence on lines of its own, as roff wants them."""
    text = re.sub(r"`[^`]+`", lambda found: found[0].replace(" ", BLANK), " ".join(text.split()))
    lines = []
    for sentence in re.split(r"(?<=[^.][.!]) |(?<=[.!]\)) ", text):
        lines += textwrap.wrap(inline(sentence), WIDTH, break_long_words=False, break_on_hyphens=False)
    return [guard(line.replace(BLANK, " ")) for line in lines]


def table(rows):
    """A table, of which the wide columns share the room that is left."""
    header, body = rows[0], rows[2:]
    is_wide = [any(len(row[i]) > COLUMN and " " in row[i] for row in rows) for i in range(len(header))]
    out = [".TS", " ".join("lbx" if wide else "lb" for wide in is_wide),
           " ".join("lx" if wide else "l" for wide in is_wide) + "."]
    for row in [header, *body]:
        out.append("\t".join("\n".join(["T{", *prose(cell), "T}"]) if wide and cell else inline(cell)
                             for wide, cell in zip(is_wide, row)))
    return out + [".TE"]


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def blocks(lines):
    """The page as (kind, lines): blocks stand between empty lines, and lists and tables end by themselves."""
    block, kind = [], None
    for line in [*lines, ""]:
        if re.match(r"#+ ", line):
            now = "heading"
        elif line.startswith("|"):
            now = "table"
        elif re.match(r"(- |\d+\. )", line):
            now = "item"
        elif line.startswith("    ") and kind not in ("item", "text"):
            now = "code"
        elif not line.strip():
            now = None
        else:
            now = kind if kind in ("item", "text") else "text"
        starts = now != kind or now == "heading" or (now == "item" and re.match(r"(- |\d+\. )", line))
        if starts and block:
            yield kind, block
            block = []
        kind = now
        if kind:
            block.append(line)


def page(text):
    out, items, after_heading = [HEAD], None, True
    for kind, lines in blocks(text.split("\n")):
        if items and kind != "item":
            out.append(".El")
            items = None
        if kind == "heading":
            level, _, title = lines[0].partition(" ")
            if level == "#":
                out += prose(f"This is {title[0].lower()}{title[1:]}.")
                after_heading = False
                continue
            out.append(".Sh " + plain(title).upper() if level == "##" else ".Ss " + plain(title))
        elif kind == "item":
            style = "bullet" if lines[0].startswith("- ") else "enum"
            if items != style:
                out.append(f".Bl -{style}")
                items = style
            out += [".It", *prose(re.sub(r"^(- |\d+\. )", "", " ".join(lines)))]
        elif kind == "code":
            out += [".Bd -literal -offset indent", *(guard(plain(line[4:])) for line in lines), ".Ed"]
        elif kind == "table":
            out += ([] if after_heading else [".Pp"]) + table([cells(line) for line in lines])
        else:
            out += ([] if after_heading else [".Pp"]) + prose(" ".join(lines))
        after_heading = kind == "heading"
    return "\n".join(out + ([".El"] if items else []) + [TAIL]) + "\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(page(file.read()))


if __name__ == "__main__":
    main()
