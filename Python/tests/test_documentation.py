"""The commands of Documentation/Python.md and Fleet.md give what the documents say."""

import doctest
import os

import pytest

from conftest import ROOT


@pytest.mark.parametrize("page, least", [("Python", 20), ("Fleet", 7)])
def test_documentation(tmp_path, page, least):
    pytest.importorskip("fsspec")
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        result = doctest.testfile(str(ROOT / f"Documentation/{page}.md"), module_relative=False)
    finally:
        os.chdir(before)
    assert result.attempted > least and result.failed == 0
