"""Names of columns: whether a name suggests a key, a person, a household, a telephone number or a date of birth.

The word lists cover several European languages, without accents. Compound names such as patientnr are split.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEY_WORDS = _words("""id ids ident identifier identifikator kennung nr no num number nummer numero numer key schluessel
    uuid guid pseudonym serial lfdnr matricule matrikel""")
WEAK_KEYS = _words("no num number numero code")  # such a column may also be a count
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
# These words suggest a unit only together with a key: emp alone may be the number of employees.
UNIT_STEMS = UNIT_NOUNS | _words("""pers hh haushalts fam pat patienten subj resp cust kunden mitglieds probanden emp
    worker versicherten borrower tenant owner driver child mother father company firm firma enterprise establishment
    unternehmen betrieb betriebs business utility account konto konten contract policy""")
# Keys of places and classifications, which many people share.
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


def squashed(name: str) -> str:
    """The words of a name, joined."""
    return "".join(name_words(name))


def key_stem(name: str) -> tuple[str, ...] | None:
    """The words before the key word: ('patient',) for patient_id, () for id; None if the name is not that of a key."""
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


def is_unit_name(name: str) -> bool:
    """Whether a column has the name of a person, a household or a key, and not of a property such as household_size."""
    words = name_words(name)
    if not words:
        return False
    if all(word in UNIT_STEMS or word in KEY_WORDS or word == "code" for word in words):
        keyed = words[-1] in KEY_WORDS or words[-1] == "code"
        return any(word in UNIT_NOUNS or (keyed and word not in WEAK_KEYS) for word in words)
    if squashed(name) in PLAIN_NAMES or words[-1] in KNOWN_KEYS:
        return True
    stem = key_stem(name)
    if stem is None or SHARED.intersection(stem) or COUNTED.intersection(stem):
        return False
    return words[-1] not in WEAK_KEYS or bool(UNIT_STEMS.intersection(stem))


def is_person_name(name: str) -> bool:
    """Whether the name of a column suggests names or addresses of people."""
    words, whole = name_words(name), squashed(name)
    of_unit = len(words) > 1 and words[-1] in PLAIN_NAMES and words[-2] in (UNIT_STEMS | {"last", "first", "full"})
    return whole in NAME_WORDS or whole in PLAIN_NAMES or of_unit


def is_phone_name(name: str) -> bool:
    """Whether the name of a column suggests telephone numbers."""
    return bool(PHONE_WORDS.intersection(name_words(name)))


def is_birth_name(name: str) -> bool:
    """Whether the name of a column suggests dates or years of birth."""
    return any(BIRTH.search(word) for word in (*name_words(name), squashed(name)))
