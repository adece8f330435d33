"""What comes out: tables for people on standard output, and the same and each single run as JSON lines."""

import json


class Report:
    """`with Report(path, scenario) as report`."""

    def __init__(self, path, scenario):
        self.path, self.scenario = path, scenario
        self.file = None

    def __enter__(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(self.path, "w", encoding="utf-8")
        return self

    def __exit__(self, *_):
        self.file.close()
        print(f"\nJSON lines: {self.path}", flush=True)

    def line(self, kind, **fields):
        """One JSON line; numbers with six digits after the point at most."""
        rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in fields.items()}
        self.file.write(json.dumps({"kind": kind, "scenario": self.scenario, **rounded}) + "\n")
        self.file.flush()

    def machine(self, facts):
        """The heading: what the results depend on."""
        self.line("machine", **facts)
        print(f"# {self.scenario}: {facts['date']}, commit {facts['commit'] or 'unknown'}, Linux {facts['kernel']}, "
              f"{facts['cpus']} x {facts['cpu']}{' (virtual)' if facts['virtual'] else ''}, "
              f"{facts['memory_bytes'] / 1e9:.0f} GB, {facts['congestion_control']}, "
              f"rmem_max {facts['rmem_max']}, wmem_max {facts['wmem_max']}, load {facts['load']:.2f}", flush=True)

    def versions(self, versions):
        """Of all peers."""
        self.line("versions", **versions)
        print("# " + ", ".join(f"{name} {version}" for name, version in versions.items() if version), flush=True)

    def note(self, text):
        """Something that the reader has to know, such as a peer that is missing."""
        self.line("note", text=text)
        print(f"  note: {text}", flush=True)

    def table(self, title, columns, rows):
        """Prints rows of dicts; columns are (heading, function of a row that gives text)."""
        cells = [[heading for heading, _ in columns]] + [[text(row) for _, text in columns] for row in rows]
        widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
        print(f"\n{title}")
        for line in cells:
            words = [line[0].ljust(widths[0])] + [word.rjust(width) for word, width in zip(line[1:], widths[1:])]
            print("  " + "  ".join(words).rstrip())
        print(end="", flush=True)


def shown(value, form):
    """A number in a format, or a dash when it is not known."""
    return "-" if value is None else format(value, form)


def column(heading, name, form, scale=1.0):
    """A column that shows one field."""
    return heading, lambda row: shown(None if row.get(name) is None else row[name] / scale, form)
