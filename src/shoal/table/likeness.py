"""Columns that look like direct identifiers or like the unit (the person or household that several rows belong to).

The kinds of direct identifiers are those of the handbook of statistical disclosure control (Hundepool et al. 2012) and
of the HIPAA safe harbor rule; IBANs are verified by their check digits (ISO 13616). Patterns are tested on a sample of
each column, so that a file of a million rows takes a second. The reasons never quote a value.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

SAMPLE = 1_000  # values per column on which a pattern is tested
MOST = 0.9  # share of them that must fit it
NEARLY_UNIQUE = 0.95
MIN_ROWS = 20  # for a share of distinct texts to mean anything
CHANCE = 1e-6  # of an agreement that is called no accident
FEW_VALUES = 50
TEXT = (pl.String, pl.Categorical, pl.Enum)

EMAIL = r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"
URL = r"^\s*(?i:https?://|ftp://|www\.)\S+"
UUID = r"^\s*\{?(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\}?\s*$"
MAC = r"^\s*(?i:([0-9a-f]{2}[:-]){5}[0-9a-f]{2})\s*$"
IBAN = r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"
# Ranges of years, postcodes (Portugal, USA) and times have the signs of phone numbers too.
NO_PHONE = r"^\s*([0-9]{4}\s*[-–/]\s*[0-9]{4}|[0-9]{4}-[0-9]{3}|[0-9]{5}-[0-9]{4})\s*$"
PHONE = r"^\s*(\+|\(|[0-9])[0-9\s()/.\-–]{5,24}[0-9]\s*$"
PHONE_SIGN = r"^\s*\+|[0-9)][\s/\-–]+[(0-9]|[0-9]\.[0-9]+\.[0-9]|^\s*\("
# With decimals, points between thousands or a currency: a quantity, which is no key.
QUANTITY = (
    r"^\s*[€$£]?\s*[+-]?([0-9]+|[0-9]{1,3}([.,' ][0-9]{3})+|[0-9]*[.,][0-9]+|[0-9]{1,3}(,[0-9]{3})+\.[0-9]+|"
    r"[0-9]{1,3}(\.[0-9]{3})+,[0-9]+)([eE][+-]?[0-9]+)?\s*(%|€|\$|£|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|JPY)?\s*$"
)
FULL_NAME = r"^\s*\p{Lu}[\p{L}'’.\-]*(,?\s+(\p{Lu}|d[aeiu]|v[ao]n)[\p{L}'’.\-]*){1,4}\s*$"
WHOLE = r"^\s*(0|[1-9][0-9]{0,17})\s*$"
TIME = r"^\s*[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?\s*$"
DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y")
DATE = r"^\s*([0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}([T ].*)?|[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2}))\s*$"

# -- words of column names, without accents; compound names such as patientnr are split ------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEY_WORDS = _words("""id ids ident identifier identifikator kennung nr no num number nummer numero numer key schluessel
    uuid guid pseudonym serial lfdnr matricule matrikel""")
WEAK_KEYS = _words("no num number numero code")  # these may also count something
KNOWN_KEYS = _words("""pid hid hhid uid cid sid rid eid oid tid gid iid fid nid vid wid xid pidp hidp pnr persnr hhnr
    hhnrakt ssn nin nino nhs mrn dni nif nie cpf curp bsn cpr ahv svnr rowid rownum seqn imei passport""")
KEY_SUFFIXES = ("nummer", "number", "ident", "uuid", "key", "nr", "id")
NO_KEY = re.compile(
    r"\w*(paid|acid|roid|noid|loid|phoid|pioid|covid|fluid|lipid|icaid|void|valid)|aid|raid|maid|said|bid|grid|humid|"
    r"solid|liquid|rapid|mid|pyramid|hybrid|kid|lid|eyelid|rheumatoid|madrid|morbid|vivid|turbid|arid|"
    r"turkey|monkey|whiskey|hockey|jockey|donkey|accident|incident|resident|president|trident"
)
COUNTED = _words("total sum count mean average avg max min phone house")
UNIT_NOUNS = _words("""person persona personne persoon individual individuo household hhold haushalt hogar menage
    huishouden husholdning hushall foyer family familie famille familia famiglia couple dwelling patient paciente
    paziente subject respondent case fall client cliente customer kunde member mitglied participant proband teilnehmer
    user usuario utente student pupil schueler employee mitarbeiter citizen insured versicherter taxpayer""")
# These stand for a unit only together with a key: emp alone may be the number of employees.
UNIT_STEMS = UNIT_NOUNS | _words("""pers hh haushalts fam pat patienten subj resp cust kunden mitglieds probanden emp
    worker versicherten borrower tenant owner driver child mother father company firm firma enterprise establishment
    unternehmen betrieb betriebs business utility account konto konten contract policy""")
# Keys of places and classifications: many people share one.
SHARED = _words("""district region state county country land city town municipality commune gemeinde kreis bezirk
    province provincia zip postal post postcode plz area zone tract block nuts lau school class category kind type group
    cluster stratum strata psu ea segment occupation job industry sector branch nace isco sic naics product item article
    store shop hospital clinic ward department dept station site line route interviewer teacher doctor physician year
    month week day date round wave visit survey cohort language model brand color status version order""")
NAME_WORDS = _words("""fullname surname lastname firstname forename givenname familyname maidenname middlename nachname
    vorname familienname geburtsname rufname nomdefamille prenom apellido apellidos cognome sobrenome achternaam
    voornaam etternavn fornavn efternamn fornamn efternavn username login address addr homeaddress streetaddress street
    strasse anschrift adresse adres adress direccion domicilio indirizzo endereco""")
PLAIN_NAMES = _words("name names nom nombre nome naam navn namn")
PHONE_WORDS = _words("""phone telephone telefon telefone telefono telefoon tel tlf mobile mobil mobiltelefon handy
    handynummer cellphone telefonnummer phonenumber fax gsm msisdn movil cellulare""")
BIRTH = re.compile(
    r"birth|born|^dob$|geburt|^geb$|gebdat|naiss|nacim|nascit|^nasc$|fodsel|^fodt|^fodd|fodels|geboort|urodz|narozen|"
    r"syntym|szulet"
)
MEASURES = _words("age alter edad eta year jahr annee ano anno rank income hours score")


# -- identifiers -----------------------------------------------------------------------------------


def identifier_reason(column: pl.Series) -> str | None:
    """Why a column looks like a direct identifier, in plain words; None if it does not.

    >>> identifier_reason(pl.Series("contact", ["ann@example.org", "bob@example.org"]))
    'the values are e-mail addresses'
    >>> identifier_reason(pl.Series("income", [31_500, 28_200, 40_700]))
    """
    values = _present(column)
    if values is None or values.len() == 0:
        return None
    if values.dtype == pl.String:
        return _text_reason(values)
    if values.dtype in (pl.Date, pl.Datetime):
        return _birth_reason(_sampled(values).cast(pl.Date), values)
    return _number_reason(values) if _all_whole(values) else None


def _present(column: pl.Series) -> pl.Series | None:
    """The values that are not missing, as text, numbers or dates; None for a column of another type."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Object:
        column = _as_text(column)
    if column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if column.dtype == pl.String:
        return column.filter(column != "")
    if column.dtype.is_float():
        return column.filter(column.is_finite())
    if column.dtype.is_integer() or column.dtype in (pl.Date, pl.Datetime):
        return column.drop_nulls()
    return None


def _sampled(values: pl.Series) -> pl.Series:
    """Values from the whole length of the column: a sorted file has its odd values at the ends."""
    return values.gather_every(max(1, -(-values.len() // SAMPLE)))


def _all_whole(values: pl.Series) -> bool:
    if values.dtype.is_integer():
        return True
    if not values.dtype.is_float():
        return False
    sample = _sampled(values)
    return bool((sample == sample.floor()).all()) and bool((values == values.floor()).all())


def _text_reason(values: pl.Series) -> str | None:
    sample = _sampled(values)
    bare = sample.str.strip_chars()
    varied = 2 * bare.n_unique() >= min(MIN_ROWS, bare.len())
    if varied:
        for what, fits in KINDS:
            if fits(bare, values.name):
                return f"the values are {what}"
    dates = _dates(bare)
    if dates is not None:
        return _birth_reason(dates, values)
    digits = _share(bare, r"^[0-9]+$") >= MOST
    if digits and _share(bare, WHOLE) >= MOST and _share(bare, r"^0[0-9]") == 0:
        return _number_reason(values.str.strip_chars().cast(pl.Int64, strict=False).drop_nulls())
    if (_share(bare, QUANTITY) >= MOST and not digits) or _share(bare, TIME) >= MOST:
        return None
    return _unique_text_reason(values)


def _unique_text_reason(values: pl.Series) -> str | None:
    """Texts that differ from row to row, or that the column's name calls names or keys."""
    name, n = values.name, values.len()
    sample = _sampled(values)
    named = _person_name(name) or _key_stem(name) is not None
    if not named and 2 * sample.n_unique() < sample.len():
        return None  # more than half of the rows share their text: counting them all is not needed
    distinct = values.n_unique()
    if n >= MIN_ROWS and distinct > NEARLY_UNIQUE * n:
        return f"{_percent(distinct, n)} of the texts are different"
    if n >= MIN_ROWS and 2 * _unique_rows(values) > n and _share(sample, FULL_NAME) >= MOST:
        return f"{_percent(distinct, n)} of the texts are different, and they look like names of people"
    if _person_name(name) and distinct >= MIN_ROWS and (_squashed(name) not in PLAIN_NAMES or distinct > 0.05 * n):
        return f"the column's name says names or addresses, and there are {distinct:,} different texts"
    return _key_reason(values, distinct)


def _number_reason(values: pl.Series) -> str | None:
    """Whole numbers that number the rows, or that are keys by their name or by their equal length."""
    name, n = values.name, values.len()
    low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]
    sample = _sampled(values)
    if _phone_name(name) and low >= 0 and sample.is_between(10**6, 10**15 - 1).mean() >= MOST:  # type: ignore[operator]
        return "the values are phone numbers"
    dates = _dates_of_numbers(sample, low, high)
    if dates is not None and _birth_name(name):
        return _birth_reason(dates, values)
    named = _key_stem(name) is not None
    if not named and sample.n_unique() < 0.8 * sample.len():
        return None
    distinct = values.n_unique()
    if not MEASURES.intersection(name_words(name)):
        if distinct == n >= 10 and high - low == n - 1:
            return f"the numbers are {low:,} to {high:,}, each once: they number the rows"
        if n >= 30 and distinct > NEARLY_UNIQUE * n and high - low < 1.25 * n:
            return f"the numbers lie from {low:,} to {high:,} with few gaps: they number the rows"
    if distinct == n >= 30 and low >= 10**6 and len(str(low)) == len(str(high)):
        return f"all numbers are different and have {len(str(low))} digits, as keys have"
    return _key_reason(values, distinct)


def _key_reason(values: pl.Series, distinct: int) -> str | None:
    """A column that is called a key and has a value of its own in most rows."""
    n = values.len()
    stem = _key_stem(values.name)
    if stem is None or n < 3 or COUNTED.intersection(stem):
        return None
    if n < MIN_ROWS and distinct < n:
        return None
    if 3 * distinct <= 2 * n and 2 * _unique_rows(values) <= n:
        return None  # the values repeat: unit_reason decides
    return f"the column's name says that it is a key, and {_percent(distinct, n)} of the values are different"


def _birth_reason(dates: pl.Series, values: pl.Series) -> str | None:
    """Dates to the day that the column's name or their spread shows to be dates of birth; `dates` is a sample."""
    dates = dates.drop_nulls()
    if dates.len() == 0 or (dates.len() > 1 and dates.dt.day().n_unique() == 1):
        return None  # months or years
    if _birth_name(values.name):
        return "the values are dates of birth, by the column's name"
    days = np.sort(dates.cast(pl.Int32).to_numpy())
    years = float(np.quantile(days, 0.99) - np.quantile(days, 0.01)) / 365.25  # without odd dates such as 9999-12-31
    if values.len() < MIN_ROWS or years <= 30:
        return None
    distinct = values.n_unique()
    if distinct > NEARLY_UNIQUE * values.len() or (years > 60 and distinct >= MIN_ROWS):
        return f"{distinct:,} different dates span {years:.0f} years, as dates of birth do"
    return None


# -- patterns of text, on a sample -----------------------------------------------------------------


def _share(sample: pl.Series, pattern: str) -> float:
    return float(sample.str.contains(pattern).mean() or 0.0)  # type: ignore[arg-type]


def _is_email(sample: pl.Series, name: str) -> bool:
    return _share(sample, EMAIL) >= 0.1  # also within other text


def _is_iban(sample: pl.Series, name: str) -> bool:
    bare = sample.str.replace_all(r"[\s-]", "").str.to_uppercase()
    fits = bare.filter(bare.str.contains(IBAN))
    if fits.len() < MOST * sample.len():
        return False
    tested = fits.head(200).to_list()
    right = sum(int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1 for text in tested)
    return right >= 0.8 * len(tested)


def _is_address_of_device(sample: pl.Series, name: str) -> bool:
    if _share(sample, MAC) >= MOST:
        return True
    if _share(sample, r"^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$") < MOST:
        return False
    return sum(map(_is_ip, sample.to_list())) >= MOST * sample.len()


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_phone(sample: pl.Series, name: str) -> bool:
    digits = sample.str.count_matches(r"[0-9]")
    fits = sample.str.contains(PHONE) & digits.is_between(7, 15)
    if not _phone_name(name):
        other = sample.str.contains(NO_PHONE) | sample.str.contains(DATE) | sample.str.contains(QUANTITY)
        fits = fits & sample.str.contains(PHONE_SIGN) & (~other | sample.str.starts_with("+"))
    return float(fits.mean() or 0.0) >= MOST  # type: ignore[arg-type]


KINDS: tuple[tuple[str, Callable[[pl.Series, str], bool]], ...] = (
    ("e-mail addresses", _is_email),
    ("web addresses", lambda sample, name: _share(sample, URL) >= MOST),
    ("UUIDs", lambda sample, name: _share(sample, UUID) >= MOST),
    ("IBANs", _is_iban),
    ("IP or MAC addresses", _is_address_of_device),
    ("phone numbers", _is_phone),
)


def _dates(sample: pl.Series) -> pl.Series | None:
    """A sample of text as dates, if most are dates."""
    if _share(sample, DATE) < MOST:
        return None
    head = sample.str.replace(r"[T ].*$", "")
    parsed = [head.str.to_date(form, strict=False, exact=True) for form in DATE_FORMATS]
    best = min(parsed, key=pl.Series.null_count)
    return best if best.null_count() <= (1 - MOST) * sample.len() else None


def _dates_of_numbers(sample: pl.Series, low: int, high: int) -> pl.Series | None:
    """A sample of whole numbers such as 19800131 as dates."""
    if low < 1850_01_01 or high > 2100_12_31:
        return None
    parsed = sample.cast(pl.Int64).cast(pl.String).str.to_date("%Y%m%d", strict=False)
    return parsed if parsed.null_count() == 0 else None


# -- units -----------------------------------------------------------------------------------------


def unit_reason(frame: pl.DataFrame, name: str) -> str | None:
    """Why a column looks like the unit, the person or household that several rows belong to; None if it does not.

    The values must repeat, and either the column has the name of a unit, or equal values stand in consecutive rows (or
    equally often) and another column is constant within each of them, which is no accident.
    """
    values = _present(frame.get_column(name))
    if values is None or values.len() < MIN_ROWS or values.dtype in (pl.Date, pl.Datetime) or not _is_code(values):
        return None
    named = _unit_name(name)
    distinct = values.n_unique()
    rows_per_value = values.len() / distinct
    if distinct < 10 or not 1.5 <= rows_per_value <= 200:
        return None
    if not named and (distinct < 30 or rows_per_value > 20 or not _codes_only(values)):
        return None
    sizes = class_sizes(cell_hashes(values))
    if 2 * int(sizes[sizes > 1].sum()) < values.len():
        return None
    share = f"{values.len():,} rows have {distinct:,} values ({rows_per_value:.1f} rows per value)"
    if named:
        return f"the column's name says person, household or key, and {share}"
    balanced = int(sizes.min()) == int(sizes.max())
    consecutive = _runs(values) == distinct and _sizes_of_units(sizes)
    constant = _constant_within(frame, name) if balanced or consecutive else None
    if constant is None:
        return None
    where = "equally often" if balanced else "in consecutive rows"
    return f"equal values stand {where}, {share}, and {constant!r} is the same in all rows of each"


def repeated_identifier_reason(column: pl.Series) -> str | None:
    """Why a column that was named an identifier shows that several rows belong to one person; None if it does not.

    Parts of names and addresses and dates of birth are shared by different people: they show nothing.

    >>> repeated_identifier_reason(pl.Series("member", [f"M{i // 3}" for i in range(60)]))
    '60 of 60 rows share their value with another row: the rows are not one per person'
    """
    values = _present(column)
    shared_names = NAME_WORDS.intersection(name_words(column.name)) or _squashed(column.name) in NAME_WORDS
    if values is None or values.dtype in (pl.Date, pl.Datetime) or shared_names or _birth_name(column.name):
        return None
    if values.dtype.is_float() and not _all_whole(values):
        return None
    distinct = values.n_unique()
    if distinct < 10 or values.len() > 200 * distinct:
        return None
    shared = values.len() - _unique_rows(values)
    if 2 * shared < values.len():
        return None
    return f"{shared:,} of {values.len():,} rows share their value with another row: the rows are not one per person"


def _is_code(values: pl.Series) -> bool:
    return values.dtype == pl.String or _all_whole(values)


def _codes_only(values: pl.Series) -> bool:
    """Whole numbers, or texts with a digit: words such as names of districts are not codes."""
    return values.dtype != pl.String or _share(_sampled(values), r"[0-9]") >= MOST


def _unique_rows(values: pl.Series) -> int:
    return int((class_sizes(cell_hashes(values)) == 1).sum())


def _runs(values: pl.Series) -> int:
    return 1 + int((values != values.shift(1)).sum())


def _sizes_of_units(sizes: NDArray[np.int64]) -> bool:
    """Households and panels: small, or of one size. Places and classes are larger and differ in size."""
    same = float(np.mean(sizes == np.bincount(sizes).argmax()))
    return same >= 0.9 or (float(sizes.mean()) <= 8 and int(sizes.max()) <= 40)


def _constant_within(frame: pl.DataFrame, name: str) -> str | None:
    """Another column with few values that is constant within every value of this one, beyond chance.

    A column that keeps its value over long runs of units (the age group in a file sorted by age) is a function of the
    order and shows nothing.
    """
    hashes = cell_hashes(frame.get_column(name))
    _, first = np.unique(hashes, return_index=True)
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    for other in frame.columns:
        if other == name:
            continue
        column = cell_hashes(frame.get_column(other))
        if np.unique(column[: 4 * SAMPLE]).size > FEW_VALUES:
            continue
        if not np.array_equal(column[order][1:][same], column[order][:-1][same]):
            continue
        counts = np.unique(column, return_counts=True)[1]
        if not 2 <= counts.size <= FEW_VALUES or agreement_chance(counts, int(same.sum())) >= CHANCE:
            continue
        by_unit = column[np.sort(first)]
        shares = np.unique(by_unit, return_counts=True)[1] / by_unit.size
        expected = (1 - float((shares**2).sum())) * (by_unit.size - 1)
        if 2 * int((by_unit[1:] != by_unit[:-1]).sum()) >= expected:
            return other
    return None


def agreement_chance(counts: NDArray[np.int64], agreements: int) -> float:
    """A bound on the chance that so many rows agree with an earlier row of their value, by independence.

    Each agrees at most with the share of the most frequent value.
    """
    return float((counts.max() / counts.sum()) ** agreements)


# -- what column names say -------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def name_words(name: str) -> tuple[str, ...]:
    """The words of a column's name in lower case, without accents and digits.

    >>> name_words("Prénom_2"), name_words("patientID"), name_words("HH-Größe")
    (('prenom',), ('patient', 'id'), ('hh', 'grosse'))
    """
    for sign, plain in (("ß", "ss"), ("ø", "o"), ("Ø", "O"), ("æ", "ae"), ("Æ", "Ae"), ("ł", "l"), ("Ł", "L")):
        name = name.replace(sign, plain)
    plain_name = "".join(sign for sign in unicodedata.normalize("NFKD", name) if not unicodedata.combining(sign))
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", plain_name)
    split = re.sub(r"([A-Z]{2,})([A-Z][a-z]{2,})", r"\1 \2", split)
    return tuple(re.findall(r"[a-z]+", split.lower()))


def _squashed(name: str) -> str:
    return "".join(name_words(name))


def _key_stem(name: str) -> tuple[str, ...] | None:
    """What a key is of: ('patient',) for patient_id, () for id; None for a name that is not a key's."""
    words = name_words(name)
    if not words:
        return None
    *before, last = words
    if last in KEY_WORDS or last in KNOWN_KEYS:
        return tuple(before)
    for suffix in KEY_SUFFIXES:
        if last.endswith(suffix) and len(last) > len(suffix) and not NO_KEY.fullmatch(last):
            return (*before, last.removesuffix(suffix))
    for suffix in ("no", "num", "code"):
        if last.endswith(suffix) and last.removesuffix(suffix) in UNIT_STEMS:
            return (*before, last.removesuffix(suffix))
    return None


def _unit_name(name: str) -> bool:
    """Whether a column is called like a person, a household or a key, and nothing about them (household_size)."""
    words = name_words(name)
    if not words:
        return False
    if all(word in UNIT_STEMS or word in KEY_WORDS or word == "code" for word in words):
        keyed = words[-1] in KEY_WORDS or words[-1] == "code"
        return any(word in UNIT_NOUNS or (keyed and word not in WEAK_KEYS) for word in words)
    if _squashed(name) in PLAIN_NAMES or words[-1] in KNOWN_KEYS:
        return True
    stem = _key_stem(name)
    if stem is None or SHARED.intersection(stem) or COUNTED.intersection(stem):
        return False
    return words[-1] not in WEAK_KEYS or bool(UNIT_STEMS.intersection(stem))


def _person_name(name: str) -> bool:
    words, whole = name_words(name), _squashed(name)
    of_unit = len(words) > 1 and words[-1] in PLAIN_NAMES and words[-2] in (UNIT_STEMS | {"last", "first", "full"})
    return whole in NAME_WORDS or whole in PLAIN_NAMES or of_unit


def _phone_name(name: str) -> bool:
    return bool(PHONE_WORDS.intersection(name_words(name)))


def _birth_name(name: str) -> bool:
    return any(BIRTH.search(word) for word in (*name_words(name), _squashed(name)))


# -- one number per cell ---------------------------------------------------------------------------


def cell_hashes(column: pl.Series) -> Hashes:
    """A 64-bit number per cell, equal for equal values; missing (null or NaN) is a value of its own."""
    missing = column.is_null()
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype.is_float():
        missing = missing | column.is_nan().fill_null(True)
        bits = (column.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    elif column.dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32):
        bits = column.fill_null(0).to_numpy().astype(np.int64).view(np.uint64)
    else:
        bits = _hash_of_others(column)
    mixed = mix(bits)
    if missing.any():
        mixed[missing.to_numpy()] = np.uint64(0x9E3779B97F4A7C15)
    return mixed


def class_sizes(hashes: Hashes) -> NDArray[np.int64]:
    """How many rows each of the values has."""
    ordered = np.sort(hashes)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return np.diff(np.append(starts, ordered.size))


def _hash_of_others(column: pl.Series) -> Hashes:
    try:
        return column.hash(1).to_numpy().astype(np.uint64)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return _as_text(column).hash(1).to_numpy().astype(np.uint64)


def _as_text(column: pl.Series) -> pl.Series:
    texts = [None if value is None else str(value) for value in column.to_list()]
    return pl.Series(column.name, texts, dtype=pl.String)


def mix(bits: Hashes) -> Hashes:
    """Bits without structure, one to one (the finalizer of SplitMix64, Steele et al. 2014): sums do not collide."""
    with np.errstate(over="ignore"):
        mixed = bits + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _percent(part: int, whole: int) -> str:
    return f"{100 * part // whole} %"
