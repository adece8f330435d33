"""Each module is one scenario: run(bench) measures, prints its tables and writes its JSON lines."""
