"""Charts as SVG: inline on the page, or as files of their own.

Colours are classes of `charts.css`: light, dark and paper each have their own. A chart is drawn for the width of a
phone and grows with its place. What a colour says is also said by a shape, a dash or a figure.
"""
