"""Builds the compiled core while the package is built or installed.

Without a C compiler, with `PULLBACK_PURE=1`, or on an interpreter that it is not for, the package
is installed without it, which is slower and otherwise the same; one line says so.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("pullback/core/compiled")


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the extension to a wheel; puts it beside its source for an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the extension, and enter it in the build's data."""
        if os.environ.get("PULLBACK_PURE", "0") not in ("", "0"):
            return
        self.folder = tempfile.TemporaryDirectory()  # until `finalize`
        try:
            built = build(Path(self.root), self.folder.name)
        except (Exception, SystemExit) as error:  # a missing compiler has many faces
            self.app.display_warning(f"pullback is built without its compiled core: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version == "editable":
            shutil.copy2(built, Path(self.root, FOLDER, built.name))
        else:
            build_data["force_include"][str(built)] = str(FOLDER / built.name)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was needed until the wheel was written."""
        if hasattr(self, "folder"):
            self.folder.cleanup()


def build(root: Path, folder: str) -> Path:
    """Compile the extension into a folder; returns its file."""
    import numpy
    from setuptools import Distribution, Extension

    extension = Extension(
        "_core", [str(root / FOLDER / "core.c")], include_dirs=[numpy.get_include()],
        extra_compile_args=[] if sys.platform == "win32" else ["-O2"],
    )
    command = Distribution({"ext_modules": [extension]}).get_command_obj("build_ext")
    command.build_lib = command.build_temp = folder
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath("_core"))
