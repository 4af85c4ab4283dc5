"""Select lines of huge raw text by their similarity to a target: `select.select_text`."""
