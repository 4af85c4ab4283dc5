"""Taggers on a model hub, in the manner of `transformers`: `from_pretrained`, `save_pretrained`, `push_to_hub`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from acclimate.model.shipped import resolved_tagger
from acclimate.model.storage import StorageError

# of a tagger that another one replaces; what else stands in the repository stays
_REPLACED = (
    *("tagger.json", "weights.safetensors", "seen.json", "encoder/*", "contextual/*"),
    *("compact.json", "model.onnx", "tokenizer.json", "parity.json", "ORIGINAL.md"),
)


class OnTheHub:
    """What a tagger with `load` and `save` has besides, to come from a hub and to go there."""

    _home: TemporaryDirectory[str] | None = None  # of files that came from the hub, for as long as the tagger lives

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        raise NotImplementedError

    def save(self, folder: str | Path) -> None:
        raise NotImplementedError

    @classmethod
    def from_pretrained(
        cls,
        name_or_folder: str | Path,
        *,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        **options: Any,
    ) -> Self:
        """A tagger in a folder, one of the package, or one of a model hub by name (`USER/NAME`).

        `revision` is a branch, a tag or a commit. `local_files_only` reads what was downloaded before. All files are
        checked as `load` checks them, and none is run. `options` go to `load`.
        """
        if not isinstance(name_or_folder, str) or (name_or_folder and resolved_tagger(name_or_folder).is_dir()):
            return cls.load(name_or_folder, **options)
        how = {"revision": revision, "token": token, "cache_dir": cache_dir, "local_files_only": local_files_only}
        home = _downloaded(name_or_folder, how)
        try:
            tagger = cls.load(home.name, **options)
        except StorageError as damage:
            # the place of a copy says nothing to anybody
            raise StorageError(str(damage).replace(home.name, name_or_folder)) from None
        tagger._home = home
        return tagger

    def save_pretrained(self, folder: str | Path, push_to_hub: bool = False, **how: Any) -> None:
        """Write the tagger as `save` does. `push_to_hub` uploads it, too: `how` is for that, `repo_id` by default the
        folder's name."""
        self.save(folder)
        if push_to_hub:
            self.push_to_hub(how.pop("repo_id", Path(folder).name), **how)
        elif how:
            raise TypeError(f"save_pretrained takes {', '.join(how)} only with push_to_hub=True.")

    def push_to_hub(
        self,
        repo_id: str,
        *,
        private: bool | None = None,
        token: str | bool | None = None,
        commit_message: str = "Upload a tagger of Acclimate",
        revision: str | None = None,
    ) -> str:
        """Upload the tagger to a model hub, and give the address of the commit. Its card goes with it, and nothing else
        of its run. The repository is made where there is none."""
        from huggingface_hub import HfApi

        with TemporaryDirectory() as place, _explained(repo_id, "cannot be uploaded"):
            self.save(Path(place, "tagger"))
            api = HfApi(token=token)
            made = api.create_repo(repo_id, private=private, exist_ok=True)
            commit = api.upload_folder(
                repo_id=made.repo_id,
                folder_path=Path(place, "tagger"),
                commit_message=commit_message,
                revision=revision,
                delete_patterns=list(_REPLACED),
            )
            return str(commit.commit_url)


def _downloaded(name: str, how: dict[str, Any]) -> TemporaryDirectory[str]:
    """A copy of a repository's files: in the hub's cache they are links, which no tagger may hold."""
    from huggingface_hub import snapshot_download

    with _explained(name, "is no folder here, and cannot be had from the model hub"):
        snapshot = snapshot_download(name, library_name="acclimate", **how)
    home: TemporaryDirectory[str] = TemporaryDirectory(prefix="acclimate-")
    shutil.copytree(snapshot, home.name, dirs_exist_ok=True)
    return home


@contextmanager
def _explained(name: str, what: str) -> Iterator[None]:
    """Turn every failure of the client into a StorageError that says what to do."""
    try:
        yield
    except StorageError:
        raise
    except Exception as failure:  # of many kinds: from the network, the hub, the client, the cache
        raise StorageError(f"{name or repr(name)} {what}. {_reason(failure)}") from failure


def _reason(failure: Exception) -> str:
    from huggingface_hub import errors

    if isinstance(failure, errors.GatedRepoError):
        return "Its owner has to let you in: ask on its page, and give your token (token=, or `hf auth login`)."
    if isinstance(failure, errors.RepositoryNotFoundError):
        return "The hub knows no such tagger, or it is private: check the name, or give your token (token=)."
    if isinstance(failure, errors.RevisionNotFoundError):
        return "The hub knows the tagger, but not this revision."
    if isinstance(failure, errors.HFValidationError):
        return "It does not look like a name there either: those are USER/NAME."
    if isinstance(failure, errors.LocalEntryNotFoundError | errors.OfflineModeIsEnabled | ConnectionError):
        return "The hub does not answer or may not be asked, and no copy was kept: go online once, or name a folder."
    reason = next(iter(str(failure).strip().splitlines()), "")
    return f"{type(failure).__name__}: {reason}" if reason else f"{type(failure).__name__}."
