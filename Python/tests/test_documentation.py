"""The commands of Documentation/Python.md give what the document says."""

import doctest
import os

import pytest

from conftest import ROOT


def test_documentation(tmp_path):
    pytest.importorskip("fsspec")
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        result = doctest.testfile(str(ROOT / "Documentation/Python.md"), module_relative=False)
    finally:
        os.chdir(before)
    assert result.attempted > 20 and result.failed == 0
