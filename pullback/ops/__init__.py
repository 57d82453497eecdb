"""Operations, by the chapters of the Array API standard; see README.md for how to add one."""

from .arithmetic import *
