"""Who is at the browser: somebody who logged in, the one local user, or a guest by a share link.

- With login set up, a person is who the identity provider says: issuer and subject, which stay
  the same when name and e-mail address change.
- Without, everybody is the one local user. A browser that came by a share link is that link's
  guest instead, for as long as the link is in its address: it has the link's role and no more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app import state
from core.errors import SettingError
from core.store.session_states import LOCAL_USER

MAX_NAME_CHARS = 200


@dataclass(frozen=True)
class Person:
    """who : the same at every visit; the session store knows people by it. name : what is shown."""

    who: str
    name: str


LOCAL = Person(LOCAL_USER, LOCAL_USER)


def login_is_set_up() -> bool:
    """Is there an [auth] section in the secrets; only then Streamlit tells whether one is in."""
    return "is_logged_in" in st.user


def is_logged_in() -> bool:
    return login_is_set_up() and st.user["is_logged_in"] is True


def current() -> Person:
    """Whose work this is. Raises SettingError where the provider does not say who somebody is."""
    if login_is_set_up():
        return person_of_claims(st.user.to_dict())
    key = state.session().link_key
    return LOCAL if key is None else guest_of(key)


def person_of_claims(claims: Mapping[str, Any]) -> Person:
    """The person that an identity provider's claims tell of.

    Raises SettingError for somebody who is not logged in, or whom the claims do not identify.
    """
    issuer, subject = claims.get("iss") or claims.get("provider"), claims.get("sub")
    if claims.get("is_logged_in") is not True:
        raise SettingError("Nobody is logged in; log in first.")
    if not all(isinstance(item, str) and item for item in (issuer, subject)):
        raise SettingError(
            "The identity provider gives no issuer and subject; ask for the scope `openid`."
        )
    return Person(f"oidc:{_digest([issuer, subject])}", _shown_name(claims, str(subject)))


def guest_of(key: str) -> Person:
    """Everybody who comes by the same link is the same guest."""
    digest = _digest(key)
    return Person(f"guest:{digest}", f"guest {digest[:4]}")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def _shown_name(claims: Mapping[str, Any], subject: str) -> str:
    """The e-mail address, else another name; one printable line, for others will read it.

    An address that the provider says is not verified could be anybody's.
    """
    names = ("email", "preferred_username", "name")
    for claim in names[claims.get("email_verified") is False :]:
        text = claims.get(claim)
        if isinstance(text, str):
            shown = "".join(c for c in text if c.isprintable()).strip()[:MAX_NAME_CHARS]
            if shown:
                return shown
    return f"user {_digest(subject)[:4]}"
