"""The wheel holds a library of this platform, and no code for one version of Python."""

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=Binary, cmdclass={"bdist_wheel": Wheel})
