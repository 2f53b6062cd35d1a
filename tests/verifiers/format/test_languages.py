"""Languages: identified by script or by models, the same every time, and neutral on what is too short to tell."""

# ruff: noqa: E501  (tables of texts)

import subprocess
import sys
import time

import pytest

from assay.verifiers.format.languages import is_in, known
from assay.verifiers.format.scripts import SCRIPTS

from .._scoring import verdict

SAID = {
    "en": "The museum opens at nine and visitors can buy their tickets at the entrance or online, where hours are listed.",
    "fr": "Le musée ouvre à neuf heures et les visiteurs peuvent acheter leurs billets à l'entrée ou en ligne avec une carte.",
    "de": "Das Museum öffnet um neun Uhr und die Besucher können ihre Karten am Eingang oder im Internet kaufen.",
    "es": "El museo abre a las nueve y los visitantes pueden comprar sus entradas en la puerta o por internet con una tarjeta.",
    "it": "Il museo apre alle nove e i visitatori possono comprare i biglietti all'ingresso o su internet con una carta.",
    "pt": "O museu abre às nove e os visitantes podem comprar os seus bilhetes na entrada ou pela internet, não é preciso esperar.",
    "nl": "Het museum gaat om negen uur open en bezoekers kunnen hun kaartjes bij de ingang of op internet kopen.",
    "sv": "Museet öppnar klockan nio och besökare kan köpa sina biljetter vid ingången eller på nätet om de vill.",
    "da": "Museet åbner klokken ni, og gæsterne kan købe deres billetter ved indgangen eller på nettet, hvis de vil. Hvad kan man se?",
    "fi": "Museo avataan yhdeksältä ja vierailijat voivat ostaa lippunsa ovelta tai verkosta, mutta se ei ole aina halpaa.",
    "pl": "Muzeum jest otwarte od dziewiątej, a zwiedzający mogą kupić bilety przy wejściu lub w internecie, ale nie zawsze tak jest.",
    "cs": "Muzeum se otevírá v devět a návštěvníci si mohou koupit lístky u vchodu nebo na internetu, ale není to vždy tak.",
    "ro": "Muzeul se deschide la ora nouă și vizitatorii pot cumpăra bilete de la intrare sau din internet, dar nu este mereu așa.",
    "hu": "A múzeum kilenckor nyit, és a látogatók a bejáratnál vagy az interneten is vehetnek jegyet, de ez nem mindig olcsó.",
    "tr": "Müze saat dokuzda açılır ve ziyaretçiler biletlerini girişte ya da internette alabilir, ama bu her zaman ucuz değil.",
    "vi": "Bảo tàng mở cửa lúc chín giờ và khách có thể mua vé ở cửa hoặc trên mạng, nhưng không phải lúc nào cũng rẻ.",
    "id": "Museum ini dibuka pada pukul sembilan dan pengunjung dapat membeli tiket di pintu masuk atau dari internet, namun tidak murah.",
    "sw": "Jumba la makumbusho hufunguliwa saa tatu na wageni wanaweza kununua tiketi zao kwa mlango au kwa mtandao, lakini si rahisi.",
    "ru": "Музей открывается в девять, и посетители могут купить билеты на входе или в интернете, но это не всегда так.",
    "uk": "Музей відкривається о дев'ятій, і відвідувачі можуть купити квитки на вході або в інтернеті, але це не завжди так.",
    "bg": "Музеят отваря в девет и посетителите могат да си купят билети на входа или от интернет, но това не е винаги така.",
    "ar": "يفتح المتحف في التاسعة ويمكن للزوار شراء التذاكر من المدخل أو من الإنترنت، لكن هذا لا يكون كل يوم.",
    "fa": "موزه در ساعت نه باز می شود و بازدیدکنندگان می توانند بلیت را از در ورودی یا از اینترنت بخرند که این ارزان است.",
    "ur": "میوزیم نو بجے کھلتا ہے اور لوگ دروازے پر یا انٹرنیٹ سے ٹکٹ خرید سکتے ہیں لیکن یہ ہر دن نہیں ہے۔",
    "hi": "संग्रहालय नौ बजे खुलता है और लोग प्रवेश द्वार पर या इंटरनेट से टिकट खरीद सकते हैं लेकिन यह हर दिन नहीं है।",
    "mr": "संग्रहालय नऊ वाजता उघडते आणि लोक दारावर किंवा इंटरनेटवर तिकीट घेऊ शकतात पण हे रोज असे नाही आहे.",
    "zh": "博物馆九点开门，游客可以在入口处或网上购票，夏季的开放时间也写在网站上。",
    "ja": "博物館は九時に開きます。入場券は入口かインターネットで買うことができます。",
    "ko": "박물관은 아홉 시에 문을 열고 방문객은 입구나 인터넷에서 표를 살 수 있습니다.",
    "th": "พิพิธภัณฑ์เปิดเวลาเก้าโมงและผู้เข้าชมสามารถซื้อตั๋วได้ที่ทางเข้า",
    "el": "Το μουσείο ανοίγει στις εννέα και οι επισκέπτες μπορούν να αγοράσουν εισιτήρια.",
    "he": "המוזיאון נפתח בתשע והמבקרים יכולים לקנות כרטיסים בכניסה או באינטרנט.",
    "bn": "জাদুঘর সকাল নয়টায় খোলে এবং দর্শনার্থীরা প্রবেশপথে টিকিট কিনতে পারেন।",
    "ta": "அருங்காட்சியகம் ஒன்பது மணிக்கு திறக்கிறது மக்கள் நுழைவாயிலில் சீட்டு வாங்கலாம்.",
}


@pytest.mark.parametrize("code", SAID)
def test_a_sentence_is_in_its_language_and_in_no_other(code: str) -> None:
    claimed = [other for other in SAID if is_in(SAID[code], other)]
    assert claimed == [code]


@pytest.mark.parametrize("text", ["ok", "Hello world", "Yes.", "好", "x = 1"])
def test_a_short_text_is_neutral(text: str) -> None:
    assert all(is_in(text, code) for code in SCRIPTS)


@pytest.mark.parametrize("text", ["", "123 + 456 = 579", "?!"])
def test_without_a_letter_nothing_was_said(text: str) -> None:
    assert not any(is_in(text, code) for code in SCRIPTS)


def test_code_links_and_mathematics_are_left_out() -> None:
    code = "```python\nfor the_word in the_list: return the_word\n```"
    assert is_in(f"{SAID['fr']} {code} https://example.org/the/of/and $the and of$", "fr")


PROSE = "The quick answer is that you should always try to keep the water clean and warm for the plants."


@pytest.mark.parametrize(
    "dress",
    [
        "```\n{}\n```\nOui",
        "`{}` Oui",
        "${}$ Oui",
        "$${}$$ Oui",
        "```text\n# {}\n```\nOui",
        "```\n{}\n```\nVoici la réponse que vous avez demandée.",
    ],
)
def test_prose_in_another_language_hides_in_no_fence(dress: str) -> None:
    long = dress.format("\n".join([PROSE] * 3) if "\n" in dress else PROSE)
    assert is_in(long, "en") and not is_in(long, "fr")


@pytest.mark.parametrize("mark", ["`{}`", "${}$", "<{}>"])
def test_prose_hides_word_by_word_in_no_marks(mark: str) -> None:
    text = " ".join(mark.format(word) for word in PROSE.strip(".").split()) + " Oui"
    assert not is_in(text, "fr")


def test_prose_hides_behind_no_zero_width_characters() -> None:
    text = " ".join(word[:1] + "\u200b" + word[1:] for word in PROSE.split())
    assert is_in(text, "en") and not is_in(text, "fr")


ENGLISH = [
    "A single lamp casts a warm glow.",
    "He has a plan and a map of a cave.",
    "Buy a loaf, a pound of butter, a dozen eggs.",
    "A stitch in time saves nine, as a tailor told a friend.",
    "Sort a list with a loop, a pivot and a stack.",
]
OTHERS = [
    "Esta ação irá habilitar autenticação baseada em senha para este usuário.",
    "Menghapus objek terkait memerlukan perijinan akun administrator",
    "Adminisztrációs felület jelszómódosítási lehetőségei",
    "Den här sidan visas bara för inloggade användare.",
    "Bu sayfa yalnızca oturum açmış kullanıcılara gösterilir.",
]


@pytest.mark.parametrize("text", ENGLISH)
def test_plain_english_with_many_articles_is_english(text: str) -> None:
    assert is_in(text, "en") and not is_in(text, "hu") and not is_in(text, "vi")


@pytest.mark.parametrize("text", OTHERS)
def test_one_sentence_of_another_latin_language_is_not_english(text: str) -> None:
    assert not is_in(text, "en")


def test_languages_that_one_sentence_does_not_tell_apart_count_as_one() -> None:
    serbian = "Ako je ovo obeleženo, samo će prijavljeni korisnici moći da vide ovu stranicu."
    assert is_in(serbian, "sr") and is_in(serbian, "hr") and not is_in(serbian, "pl")


def test_a_row_may_ask_for_less_doubt() -> None:
    text = "He has a plan and a map of a cave."
    accepted = [code for code in SAID if is_in(text, code, min_confidence=0.0)]
    assert accepted == ["en"] and len([code for code in SAID if is_in(text, code, min_confidence=1.0)]) > 1


def test_a_long_text_costs_no_more_than_a_bounded_sample() -> None:
    text = SAID["en"] + "\n"
    started = time.process_time()
    assert is_in(text * 20_000, "en") and not is_in(text * 20_000, "de")
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "text",
    [
        "Voici le code :\n```python\nfor i in range(10):\n    if i is not None and i in xs:\n        print(i)\n```",
        "```sql\nSELECT name FROM users WHERE age IS NOT NULL AND id IN (1, 2)\n```\nVoilà la requête qui vous aide.",
        "La formule est $f(x) = x^2$ et `return value` la rend.",
        "<think>Bien, je vais y penser.</think><b>Le résultat</b> est donc dans le tableau.",
    ],
)
def test_code_beside_an_answer_does_not_make_it_english(text: str) -> None:
    assert is_in(text, "fr")


def test_a_region_of_a_code_does_not_matter() -> None:
    assert known("zh-CN") and known("pt_BR") and not known("klingon")
    assert is_in(SAID["zh"], "zh-CN")


def consistency(text: str, **rule: object) -> float:
    constraint = {"type": "language_consistency", "code": "zh", "scope": "think", "min_ratio": 0.8, **rule}
    return verdict("format", text, {"constraints": [constraint], "aggregate": "all"}).reward


def test_consistency_is_the_share_of_letters_in_the_script() -> None:
    assert consistency("<think>我们来算一下，答案是 x。</think>The answer is 3.") == 1
    assert consistency("<think>我们 will compute it</think>答案是三。") == 0
    assert consistency("<think>我们 will compute it</think>答案是三。", scope="answer") == 1
    assert consistency("<think>2 + 2 = 4</think>x") == 1
    assert consistency("<think></think>x") == 0


def test_the_verdict_does_not_depend_on_the_hash_seed() -> None:
    program = "import sys; sys.path[:0]=[]; from assay.verifiers.format.languages import is_in; print([is_in(t, c) for t in %r for c in %r])"
    source = program % ([text[:60] for text in SAID.values()], list(SAID))
    runs = [
        subprocess.run(
            [sys.executable, "-c", source], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout
