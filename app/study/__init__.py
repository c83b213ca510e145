"""The study behind every page: one set of choices in, the figures of any list and the verdict out.

It draws no widget and knows no session, so that pages, the report and Compare ask it alike.
"""

from app.study.cached import advice_for, study_for
from app.study.choice import NO_DECODES, StudyChoice, request_count

__all__ = ["NO_DECODES", "StudyChoice", "advice_for", "request_count", "study_for"]
