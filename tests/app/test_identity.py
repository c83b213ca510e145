"""Who somebody is, from what an identity provider claims, and who may come in."""

from __future__ import annotations

import pytest

from app.web.identity import guest_of, person_of_claims
from app.web.login import may_enter, provider_names
from core.errors import SettingError
from core.records.session import checked_name
from tests.app.apptest import open_app

ANA = {"is_logged_in": True, "iss": "https://id.example", "sub": "1", "email": "ana@example.org"}


def test_a_person_stays_the_same_when_the_address_changes():
    """Issuer and subject are who somebody is; the e-mail address is only shown."""
    before, after = person_of_claims(ANA), person_of_claims(ANA | {"email": "a.b@example.org"})
    assert before.who == after.who and (before.name, after.name) == (
        "ana@example.org",
        "a.b@example.org",
    )
    others = [ANA | {"sub": "2"}, ANA | {"iss": "https://other.example"}, ANA | {"sub": "1 "}]
    assert len({before.who, *(person_of_claims(claims).who for claims in others)}) == 4


def test_issuer_and_subject_do_not_run_into_each_other():
    """Two pairs that make one text when joined are two people."""
    a = person_of_claims(ANA | {"iss": "https://a", "sub": "b c"})
    b = person_of_claims(ANA | {"iss": "https://a b", "sub": "c"})
    assert a.who != b.who


def test_claims_that_identify_nobody_are_refused():
    """Without a subject, an issuer or a log-in nobody works under a shared identity."""
    for claims in (
        *({}, ANA | {"is_logged_in": False}, ANA | {"is_logged_in": "true"}),
        *(ANA | {"sub": ""}, ANA | {"sub": 7}, ANA | {"iss": None}),
        {k: v for k, v in ANA.items() if k != "sub"},
    ):
        with pytest.raises(SettingError):
            person_of_claims(claims)


def test_what_is_shown_is_one_printable_line():
    """Names from a provider are shortened and cleaned; an address it did not verify is not shown;
    with no name at all there is still something to show."""
    hostile = ANA | {"email": "ana\x1b[2J\n@x" + "y" * 300}
    for claims in (hostile, ANA | {"email": "\n", "name": "Ana"}, ANA | {"email": 3}):
        checked_name(person_of_claims(claims).name, "name")
    assert person_of_claims(ANA | {"email": "\n", "name": "Ana"}).name == "Ana"
    assert person_of_claims(ANA | {"email_verified": False, "name": "A"}).name == "A"
    assert person_of_claims(ANA | {"email": None}).name.startswith("user ")


def test_guests_of_a_link_are_one_and_no_key_is_told():
    """The same key is the same guest; who they are does not give the key away."""
    key = "k" * 22
    assert guest_of(key) == guest_of(key) != guest_of("l" * 22)
    assert key not in guest_of(key).who + guest_of(key).name
    assert guest_of(key).who not in (person_of_claims(ANA).who, "local")


def test_who_may_enter():
    """Without a list everybody; with one, verified addresses and domains on it."""
    ana = ANA | {"email_verified": True}
    assert may_enter(ANA, []) and may_enter({}, ["", " "])
    assert may_enter(ana, ["Ana@Example.org"]) and may_enter(ana, ["x@y", " @example.org "])
    for allowed in (["ben@example.org"], ["@ample.org"], ["example.org"], ["@org"], ["@"]):
        assert not may_enter(ana, allowed), allowed
    for claims in (ANA, ANA | {"email_verified": "true"}, ana | {"email": None}, {}):
        assert not may_enter(claims, ["@example.org", "ana@example.org"])
    assert not may_enter(ana | {"email": "ana@example.org@evil.example"}, ["@example.org"])


def test_several_providers_are_named():
    """Sections with a provider's address are choices; plain settings are not."""
    section = {"client_id": "x", "server_metadata_url": "https://id.example"}
    auth = {"redirect_uri": "x", "google": section, "cookie_secret": "y", "other": {"a": "b"}}
    assert provider_names(auth) == ["google"] and provider_names({"client_id": "x"}) == []


@pytest.mark.usefixtures("own_database")
def test_a_lost_secrets_file_opens_nothing(monkeypatch):
    """Where login is required and none is set up, no page is served; otherwise it is."""
    assert open_app().title[0].value == "Workload"
    monkeypatch.setenv("BUCKETWISE_REQUIRE_LOGIN", "1")
    at = open_app()
    assert not at.title and "no [auth] section" in at.error[0].value
