"""Every error a user can meet; catch as widely or as narrowly as you need.

    ProjectError
    ├── InputError               what was typed or uploaded cannot be used
    │   ├── UnknownFormatError   a file that is none of the formats we read
    │   ├── FileContentError     a known format with content that cannot be used
    │   ├── ColumnMappingError   the columns for tokens or arrival are missing or do not exist
    │   ├── CaptureSizesError    no capture size, or one that is no positive integer
    │   ├── HistogramError       an empty histogram, or sizes and counts that do not match
    │   ├── ModelConfigError     a model config.json without what the calculation needs
    │   └── SettingError         a number or option outside its range
    ├── RecordError              a JSON record (profile, spec) that does not follow its schema
    ├── CostUnitError            quantities in different units were mixed
    ├── SessionError             a tuning session cannot be read or written as asked
    │   ├── SessionAccessError   no such session, or a role that does not allow it
    │   └── ConflictError        somebody else saved the session first
    └── JobError                 the job queue refused or lost a request
        └── NoWorkerError        nothing listens that could run the job

A message says what, where, the value and the way out. `assert` is for our own mistakes only.
"""


class ProjectError(Exception):
    """Base of all errors whose message is meant for the user."""


class InputError(ProjectError):
    """What was typed or uploaded cannot be used."""


class UnknownFormatError(InputError):
    """A file that is none of the formats we read."""


class FileContentError(InputError):
    """A known format with content that cannot be used."""


class ColumnMappingError(InputError):
    """The columns for tokens or arrival are missing or do not exist.

    columns : the columns that there are, so that the user can choose among them
    """

    def __init__(self, message: str, columns: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.columns = columns


class CaptureSizesError(InputError):
    """An empty list of capture sizes, or one that holds something else than positive integers."""


class HistogramError(InputError):
    """An empty histogram, or sizes and counts that do not match."""


class ModelConfigError(InputError):
    """A model config.json without what the calculation needs."""


class SettingError(InputError):
    """A number or option outside its range."""


class RecordError(ProjectError):
    """A JSON record that does not follow its schema."""


class CostUnitError(ProjectError):
    """Quantities in different units were mixed."""


class SessionError(ProjectError):
    """A tuning session cannot be read or written as asked."""


class SessionAccessError(SessionError):
    """There is no such session, or the caller's role does not allow what was asked."""


class ConflictError(SessionError):
    """Somebody else saved the session first; nothing was written.

    The store's subclass carries both documents and what each writer changed.
    """


class JobError(ProjectError):
    """The job queue refused or lost a request."""


class NoWorkerError(JobError):
    """Nothing listens that could run the job."""
