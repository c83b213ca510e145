"""A printed number that still knows its value and unit: pages show the text, CSV the number."""

from __future__ import annotations


class Quantity(str):
    """The text as it is shown, e.g. "1.23 ms", with what it stands for, e.g. 1230.0 and "us".

    value : None where nothing is known and the text is a dash; unit : "" for a plain count
    """

    value: float | None
    unit: str

    def __new__(cls, text: str, value: float | None, unit: str = "") -> Quantity:
        made = super().__new__(cls, text)
        made.value = None if value is None else float(value)
        made.unit = unit
        return made

    def __getnewargs__(self) -> tuple[str, float | None, str]:  # pyright: ignore
        return str(self), self.value, self.unit
