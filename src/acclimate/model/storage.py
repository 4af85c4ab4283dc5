"""Folders on disk that are complete or absent, with checksums. A folder is filled aside and renamed. `manifest.json`
holds the SHA-256 of every file. Nothing in a folder is trusted: no pickles, no links, no names that lead outside."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without such locks
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:  # whoever only checks files does not wait for torch
    from torch import Tensor

MANIFEST = "manifest.json"  # of a folder that is written at once
CHECKSUMS = "checksums.json"  # of files that are written one by one
_ARRIVING = ".arriving"  # a complete new version, inside the folder that it is about to replace


class StorageError(ValueError):
    """A saved folder that is missing, incomplete or damaged."""


@contextmanager
def atomic_folder(folder: str | Path) -> Iterator[Path]:
    """Yield an empty folder; on leaving, seal it and move it to `folder`. Other files in `folder` stay."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    for stale in folder.parent.glob(f".{glob.escape(folder.name)}.????????.part"):
        with suppress(OSError), _locked(stale):  # a process that was killed holds no lock any more
            shutil.rmtree(stale)
    aside = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:8]}.part"
    aside.mkdir()
    with ExitStack() as until_saved:
        with suppress(OSError):
            until_saved.enter_context(_locked(aside))
        try:
            yield aside
            seal(aside)
            _put_in_place(aside, folder)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder while it is used; an OSError where another process has it, or where there are no such locks."""
    if fcntl is None:  # pragma: no cover
        raise OSError("this system has no such locks")
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def seal(folder: Path) -> None:
    """Write the manifest, and flush all files to disk."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = {name: _digest(folder / name) for name in names if name != MANIFEST}
    (folder / MANIFEST).write_bytes(_manifest_bytes(files))
    mode = (folder / MANIFEST).stat().st_mode  # what the umask allows; other libraries may have been stricter
    for name in (*files, MANIFEST):
        _set_mode(folder / name, mode)
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())


def verify(folder: str | Path) -> frozenset[str]:
    """Check every listed file, and give the listed names."""
    folder = Path(folder)
    if not folder.is_dir():
        raise StorageError(f"{folder}: no such folder. Expected one that `acclimate adapt --out` or Tagger.save wrote.")
    try:
        files = _manifest_of(folder)
        for name, expected in files.items():
            _verify_file(folder, name, expected)
        return frozenset(files)
    except StorageError as damage:
        if _is_interrupted(folder):
            raise StorageError(
                f"{folder}: a save into this folder was interrupted, or is under way. Give its command again, or "
                f"finish the save in Python: acclimate.finish_saving({str(folder)!r})."
            ) from damage
        raise


def verify_file(folder: Path, name: str) -> None:
    """Check one file of a sealed folder."""
    files = _manifest_of(folder)
    if name not in files:
        raise StorageError(f"{folder / name}: not listed in {MANIFEST}, so nobody knows whether it is whole.")
    _verify_file(folder, name, files[name])


def listed_files(folder: Path) -> Mapping[str, Any] | None:
    """What the manifest lists; None where it is damaged or missing."""
    try:
        return _manifest_of(folder)
    except StorageError:
        return None


def write_checksums(folder: Path, *names: str) -> None:
    """Note the checksums of these files."""
    files = {**_checksums_in(folder), **{name: _digest(folder / name) for name in names}}
    _put_checksums(folder, files)


def forget_checksums(folder: Path, *names: str) -> None:
    """Forget the checksums of files that are about to change."""
    if (folder / CHECKSUMS).exists():
        _put_checksums(folder, {name: sums for name, sums in _checksums_in(folder).items() if name not in names})


def require_unchanged(path: Path) -> None:
    """Check a file by the manifest, or by its noted checksum if it has one."""
    folder, name = path.parent, path.name
    if (folder / MANIFEST).exists():
        verify_file(folder, name)
    elif name in (sums := _checksums_in(folder)):
        _verify_file(folder, name, sums[name])


def read_sealed_json(path: Path) -> Any:
    """A JSON file, after a check."""
    require_unchanged(path)
    return read_json(path)


def is_intact(folder: Path, name: str) -> bool:
    """Whether a file is as the manifest says."""
    try:
        verify_file(folder, name)
    except StorageError:
        return False
    return True


def remove_listed(folder: Path) -> None:
    """Remove the listed files and the manifest; others stay."""
    for name in listed_files(folder) or {}:
        _remove(folder, name)
    (folder / MANIFEST).unlink()


def write_json(path: Path, content: Any) -> None:
    # surrogates pass: a word may hold half a pair
    text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Tensors by name; shared memory is copied, as safetensors refuses aliases."""
    from safetensors.torch import save_file

    path.touch()  # takes its mode from the umask, which safetensors ignores
    mode = path.stat().st_mode
    save_file({name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}, str(path))
    _set_mode(path, mode)


def read_tensors(path: Path) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    try:
        return load_file(str(path))
    except (SafetensorError, OSError) as failure:
        raise StorageError(f"{path}: cannot be read as safetensors: {failure}") from None


def _set_mode(path: Path, mode: int) -> None:
    with suppress(OSError):  # not every file system knows of modes
        path.chmod(stat.S_IMODE(mode))


def _manifest_bytes(files: Mapping[str, Any]) -> bytes:
    body = json.dumps(files, sort_keys=True)
    checksum = hashlib.sha256(body.encode()).hexdigest()
    return (json.dumps({"checksum": checksum, "files": files}, indent=1, sort_keys=True) + "\n").encode()


def _digest(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _verify_file(folder: Path, name: str, expected: Any) -> None:
    path = folder / name
    _refuse_links(folder, name)
    if not path.is_file():
        raise StorageError(f"{path}: missing, though the manifest lists it. Restore the folder or train again.")
    if _digest(path) != expected:
        raise StorageError(f"{path}: damaged (SHA-256 differs from the manifest). Restore it or train again.")


def _checksums_in(folder: Path) -> dict[str, Any]:
    return _manifest_of(folder, CHECKSUMS) if (folder / CHECKSUMS).exists() else {}


def _put_checksums(folder: Path, files: Mapping[str, Any]) -> None:
    aside = folder / f"{CHECKSUMS}.part"
    aside.write_bytes(_manifest_bytes(files))
    aside.replace(folder / CHECKSUMS)


def _manifest_of(folder: Path, kind: str = MANIFEST) -> dict[str, Any]:
    manifest = folder / kind
    _refuse_links(folder, kind)
    if not manifest.is_file():
        raise StorageError(f"{folder}: no {MANIFEST} there, so it holds no whole tagger or checkpoint.")
    content = manifest.read_bytes()
    try:
        files = json.loads(content)["files"]
        is_whole = isinstance(files, dict) and content == _manifest_bytes(files)
    except (ValueError, KeyError, TypeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise StorageError(f"{manifest}: damaged (its own checksum does not fit). Restore the folder or train again.")
    for name in files:
        if not is_plain_name(name):
            raise StorageError(
                f"{manifest}: lists {name!r}, which is no plain name of a file below the folder. Acclimate did not "
                "write this folder. Do not use it."
            )
    return dict(files)


def is_plain_name(name: str) -> bool:
    """Whether a name stays inside the folder that it is joined to, on every system."""
    path = PurePosixPath(name)
    is_inside = not path.is_absolute() and bool(path.parts) and ".." not in path.parts
    return is_inside and path.as_posix() == name and not set(name) & set("\\:\0") and path.parts[0] != _ARRIVING


def _refuse_links(folder: Path, name: str) -> None:
    """Refuse links below the folder; the folder itself may be one."""
    path = folder
    for part in PurePosixPath(name).parts:
        path /= part
        if path.is_symlink():
            raise StorageError(f"{path}: a link, which could lead anywhere. Put the file itself in its place.")


def _remove(folder: Path, name: str) -> None:
    """Remove a file, unless it is behind a link."""
    with suppress(StorageError):
        _refuse_links(folder, PurePosixPath(name).parent.as_posix())
        (folder / name).unlink(missing_ok=True)


def _put_in_place(aside: Path, folder: Path) -> None:
    if not folder.exists() or not any(folder.iterdir()):
        with suppress(FileNotFoundError):
            folder.rmdir()
        aside.rename(folder)
    else:
        finish_saving(folder)  # an earlier save may have been interrupted
        for name in _manifest_of(aside):
            _refuse_links(folder, name)
        aside.rename(folder / _ARRIVING)
        _flush_folder(folder)
        _move_up(folder)
    _flush_folder(folder.parent)


def _is_interrupted(folder: Path) -> bool:
    return (folder / _ARRIVING / MANIFEST).exists()


def finish_saving(folder: str | Path) -> None:
    """Finish an interrupted save into this folder, if the new version is complete."""
    folder = Path(folder)
    new = folder / _ARRIVING
    _refuse_links(folder, _ARRIVING)
    if _is_interrupted(folder):
        for name, expected in _manifest_of(new).items():
            _refuse_links(folder, name)
            _verify_file(new if (new / name).exists() else folder, name, expected)
    if new.is_dir():
        _move_up(folder)


def _move_up(folder: Path) -> None:
    """Move the new version up, over the old files, manifest last. If interrupted, it can be repeated."""
    new = folder / _ARRIVING
    if _is_interrupted(folder):
        files = _manifest_of(new)
        for name in (listed_files(folder) or {}).keys() - files.keys():
            _remove(folder, name)
        for name in (*files, MANIFEST):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # moved already
                (new / name).replace(folder / name)
    shutil.rmtree(new, ignore_errors=True)


def _flush_folder(folder: Path) -> None:
    if os.name == "posix":  # a rename is only durable once its folder is on disk
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
