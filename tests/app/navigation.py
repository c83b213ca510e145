"""Following the navigation bar as a person does: some pages are behind a section's button."""

from __future__ import annotations

from typing import Any


def follow(page: Any, name: str) -> None:
    """Click the page of that title, opening sections until it shows."""
    links = page.locator("[data-testid=stTopNavLink], [data-testid=stTopNavDropdownLink]")
    link = links.filter(has_text=name)
    page.get_by_test_id("stTopNavSection").first.wait_for()
    for section in page.get_by_test_id("stTopNavSection").all():
        if link.count() and link.first.is_visible():
            break
        section.click()
        page.wait_for_timeout(200)  # the section's menu opens without anything to wait for
    link.first.click()
