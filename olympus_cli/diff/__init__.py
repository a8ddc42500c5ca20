"""The comparison of two programs: its sides, its document, and its text, page and report."""
