"""Pictures of the analyses. They need matplotlib (`pip install 'acclimate[plots]'`), imported when one is drawn.

Every function gives a `matplotlib.figure.Figure`; `save_figure` writes it as PNG or SVG. pyplot is not touched.
"""

from acclimate.analysis.plots.bars import draw_parts_of_speech, draw_seen_accuracy
from acclimate.analysis.plots.canvas import check_picture, require_matplotlib, save_figure
from acclimate.analysis.plots.compared_curves import draw_compared_curves
from acclimate.analysis.plots.curves import draw_curves
from acclimate.analysis.plots.feature_map import draw_feature_map
from acclimate.analysis.plots.focal_weights import draw_focal_weights
from acclimate.analysis.plots.grids import draw_grid, draw_short_and_long, draw_term_confidences
from acclimate.analysis.plots.heat_map import draw_cells, draw_overlap
from acclimate.analysis.plots.lines import draw_density_ratio
from acclimate.analysis.plots.masks import mask_pictures

__all__ = [
    "check_picture",
    "draw_cells",
    "draw_compared_curves",
    "draw_curves",
    "draw_density_ratio",
    "draw_feature_map",
    "draw_focal_weights",
    "draw_grid",
    "draw_overlap",
    "draw_parts_of_speech",
    "draw_seen_accuracy",
    "draw_short_and_long",
    "draw_term_confidences",
    "mask_pictures",
    "require_matplotlib",
    "save_figure",
]
