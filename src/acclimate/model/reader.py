"""An encoder that reads running text and tags nothing: what pre-training trains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from acclimate.data.batches import SOURCE
from acclimate.data.corpus import Sentence
from acclimate.model.encoders.transformer import Transformer, TransformerSettings
from acclimate.model.learner import Learner
from acclimate.model.view import TextView
from acclimate.model.word_guesser import MlmHead


class MaskedLanguageModel(Learner):
    """A masked language model. Reads rows of pieces that are full to the brim, or sentences; tags it does not see."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """`model` is an `AutoModelForMaskedLM`; its parts are shared, not copied, so it can be saved as it is."""
        super().__init__()
        self._model = (model,)  # its parts are modules of their own here
        self.encoder: Transformer = Transformer(TransformerSettings(dropout=0.0), model.base_model, tokenizer)
        self.mlm_head = MlmHead.of(model)

    @property
    def model(self) -> Any:
        """The whole, as `transformers` has it: what to save."""
        return self._model[0]

    def view(self, part: Tensor | Sequence[Sentence], domain: str = SOURCE) -> TextView:
        inputs = {"pieces": part} if isinstance(part, Tensor) else self.encoder.tensorize(part)
        if "attention" in inputs and inputs["attention"].all():
            del inputs["attention"]  # full rows need no mask, and without one the fast attention kernels serve
        view = TextView(self.encoder, {name: self._sent(tensor) for name, tensor in inputs.items()})
        view.mlm_head = self.mlm_head
        if not isinstance(part, Tensor):
            view.originals = part
        return view

    def _sent(self, tensor: Tensor) -> Tensor:
        if self.device.type == "cuda":
            tensor = tensor.pin_memory()  # from other memory the copy waits for all work under way on the GPU
        return tensor.to(self.device, non_blocking=True)
