"""Charts as inline SVG. Colours are classes of the page's style sheet: light, dark and paper each have their own.

A chart is drawn for the width of a phone and grows with its place. What a colour says is also said by a shape, a dash
or a figure.
"""
