"""Answers as models of several families write them: what a person says of them, and what we say."""

import json
import time

import pytest
from natural_answers import FOLDER, load_answers, measure

from bookwheel.lab.scoring import all_of, choice, score_answer, unanswerable

# Accuracy, and precision of "right", that were reached.
FLOORS = {
    "a": (0.98, 0.97),
    "b": (0.97, 0.96),
    "c": (1.0, 1.0),
    "d": (0.96, 0.93),
    "e": (0.95, 0.9),
    "f": (0.95, 0.96),
    "g": (0.88, 0.89),
    "h": (0.96, 0.97),
    "i": (0.94, 0.9),
    "j": (0.96, 0.92),
    "k": (0.94, 0.91),
    "l": (0.8, 0.74),
    "m": (0.91, 0.92),
    "n": (0.75, 0.76),
    "o": (0.95, 0.98),
    "p": (0.91, 0.92),
    "q": (0.98, 1.0),
    "r": (0.96, 1.0),
    "s": (0.98, 1.0),
    "t": (0.91, 0.97),
    "u": (0.88, 0.93),
    "v": (0.81, 0.92),
    "w": (0.8, 0.95),
    "x": (0.87, 0.86),
}


@pytest.mark.parametrize(("name", "accuracy", "precision"), [(name, *floors) for name, floors in FLOORS.items()])
def test_scoring_agrees_with_a_person_as_often_as_it_did_and_more_than_the_published_judges(name, accuracy, precision):
    answers = load_answers(FOLDER / f"natural_{name}.txt")
    reached = measure(answers)
    assert len(answers) >= 60
    assert reached[0] >= accuracy
    assert reached[1] >= precision
    assert reached[0] > max(measure(answers, judge)[0] for judge in ("ruler", "memagent")) + 0.1


def test_every_set_of_answers_has_its_floor():
    assert sorted(FLOORS) == sorted(path.stem.removeprefix("natural_") for path in FOLDER.glob("natural_*.txt"))


def test_answers_in_json_lines_are_judged_alike(tmp_path):
    answers = load_answers(FOLDER / "natural_q.txt")
    rows = (
        {"question": one.question, "gold": one.golds, "all": one.kind == "A", "reply": one.text, "right": one.is_right}
        for one in answers
    )
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert load_answers(path) == answers


@pytest.mark.parametrize(
    ("question", "gold", "answer"),
    [
        ("Who won?", "Voss", "Both Voss and Maas"),
        ("Who won?", "Voss", "Voss came second."),
        ("How many abstained?", "12", "Between 12 and 40"),
        ("How many abstained?", "12", "Between 5 and 12"),
        ("How many abstained?", "12", "At least 12"),
        ("How many abstained?", "12", "12 were in favour, 40 abstained"),
        ("What does it cost?", "£2,350", "$2,350"),
        ("What does it cost?", "£2,350", "2,350 people"),
        ("Where did they set out from?", "Tromsø", "from Bergen to Tromsø"),
        ("Where did they go to?", "Tromsø", "from Tromsø to Bergen"),
        ("What is the monthly rent?", "€400", "€400 a year"),
        ("Who is the director?", "Ada Quill", "Ada Quill was the director until 2019"),
        ("Who commanded?", "Major Adair", "Colonel Adair"),
        ("Who commanded?", "Major Adair", "Adair & Sons"),
        ("Who signed?", "Ada Quill", "Bram Quill"),
        ("Who translated it?", "Ada Quill", "It was written by Ada Quill and translated by Bram Marrow."),
        ("Where was it signed?", "Bo", "It was ratified in Bo and signed in Karr."),
        ("Which drug was given first?", "Saxin", "Tervonil, followed by Saxin"),
        ("When does it leave?", "23:10", "It arrives at 23:10."),
        ("How many ships were lost?", "14", "The storm of day 14 sank three."),
        ("How many crates were lost?", "14", "See page 14."),
        ("How many crates were lost?", "14", "3 on day 14"),
        ("What was the turnover in 2019?", "4 million", "4 million in 2018, 5 million in 2019."),
        ("Who is the director?", "Ada Quill", "Bo Maas (assistant: Ada Quill)"),
        ("Who is the director?", "Ada Quill", "Formerly Ada Quill, now Bo Maas."),
        ("When was the company founded?", "1891", "It was sold in 1891."),
        ("他什么时候出生？", "1957年", "他死于1957年。"),
        ("谁是导演？", "林若冰", "编剧是林若冰。"),
        ("Which team won?", "Norvik", "Norvik lost 1:3 to Sund."),
        ("Who won?", "Norvik", "Sund beat Norvik."),
        ("Who lent it?", "Ada Quill", "The surveyor lent it to Ada Quill."),
        ("What was used for the roof?", "slate", "They used oak for the roof and slate for the floors."),
        ("What is the capital?", "Bo", "Bo is the largest city, but the capital is Karr."),
        ("How old was he?", "64", "His wife was 64."),
        ("Who signed?", "Ada Quill", "The document does not say; Ada Quill only paid."),
        ("Which sample failed?", "B7", "B6 and B8 failed, while B7 passed."),
        ("What was it called before 1931?", "Rovers", "In 1931 it took the name Rovers."),
        ("What was it called before 1931?", "Rovers", "It was called Tidewater before 1931 and Rovers afterwards."),
        ("What was it called?", "Harbour Rovers", "Tidewater Athletic. Harbour Rovers was its main rival."),
        ("What does it cost for residents?", "€85", "€140; the €85 rate is for those who live elsewhere."),
        ("Who found it?", "Ada Quill", "It was found by a student of Ada Quill."),
        ("Who moved it?", "Ada Quill", "Ada Quill spoke against it; the mover was Bram Marrow."),
        ("Which towns?", "Corrie and Dunmuir", "It passes Corrie, Dunmuir and Fell."),
        ("Which towns?", "Corrie and Dunmuir", "Corrie"),
        ("Who signed?", "Ada Quill", "Ada Quill, no wait, Bram Marrow."),
        ("Who signed?", "Ada Quill", "~~Ada Quill~~ Bram Marrow"),
        ("Who signed?", "Ada Quill", "<think>Ada Quill came. She signed, so"),
        ("Who signed?", "not stated", "Ada Quill"),
        ("Which address?", "desk@alm.example", "desk@alm.example.org"),
        ("Which address?", "a@alm.example", "ba@alm.example"),
        ("What does it cost?", "2,800元", "28块石头"),
        ("Which house?", "10月18日", "18号楼"),
        ("How fast?", "65 km/h", "65 mph"),
        ("What does it cost?", "€1,599", "€1.599"),
        ("What does it cost?", "8 yuan", "把蛋糕切成8块。"),
        ("When was part two written?", "1985", "Part two (1984)"),
        ("What is the current?", "3 km/h", "3 metres per hour"),
        ("How fast?", "30 m/s", "30 kilometres per second"),
        ("Where did they stay?", "Marks and Spencer", "Spencer sued Marks."),
        ("Which towns?", "Corrie and Dunmuir", "Corrie or Dunmuir"),
        (
            "Which towns?",
            "Corrie and Dunmuir",
            "It names Corrie and, elsewhere, Dunmuir, but does not say which towns.",
        ),
        ("What became of the search?", "no trace of the ship was found", "The text does not say."),
        ("How old?", "41", "Forty-one? No: he was born in May.\n\nAnswer: 40"),
        ("Did he pay?", "Yes", "He did not, yet."),
        ("When does the sale begin?", "10:30 am", "Viewing is from 10:30 am; the sale itself starts at 12:00."),
        ("Who is the heir according to the will?", "Voss", "Voss contests the will, which names Maas as heir."),
        ("Where did he work with Maas?", "Bo", "He worked with him in Karr before moving to Bo."),
        ("How long?", "20 minutes", "2 hours and 20 minutes"),
        ("When did the job fail?", "01:22:51", "01:22:15"),
        ("What does it cost?", "¥45", "45 dollars"),
        ("每年上涨多少？", "5%", "百分之五点五"),
        ("这批药材最后卖给了谁？", "广和堂", "最后卖给了济生药房，广和堂没有买。"),
        ("一共多少箱？", "240箱", "240公斤"),
        ("Who wrote the letter to the duke?", "Ada Quill", "The duke wrote to Ada Quill."),
        ("What is the minimum age?", "18", "You must be older than 18."),
        ("Who owned the dog?", "the owner of the inn", "the inn of the owner"),
        ("What did he see?", "the dog bit the man", "the man bit the dog"),
        ("谁把钥匙交给了守塔人？", "林阿婆", "守塔人把钥匙交给了林阿婆。"),
        ("谁交出了钥匙？", "林阿婆", "是老郑，他从林阿婆那里拿到钥匙。"),
    ],
)
def test_a_gold_that_is_said_of_something_else_does_not_count(question, gold, answer):
    assert score_answer("contains", answer, [gold], question).score == 0


@pytest.mark.parametrize(
    ("question", "gold", "answer"),
    [
        ("What does it cost?", "四十五万元", "45万元"),
        ("What does it cost?", "$4.2 million", "$4.2M"),
        ("What does it cost?", "71 million euros", "€71m"),
        ("How hot?", "190 °C", "190 degrees Celsius"),
        ("When does it close?", "6:45 pm", "18:45"),
        ("When was it?", "14 July 1871", "14/07/1871"),
        ("How much?", "half", "50 %"),
        ("How many?", "a dozen", "12"),
        ("How far?", "1.5 km", "1,500 metres"),
        ("Who commanded?", "Major Adair", "Adair"),
        ("Who commanded?", "Major Adair", "It was Major Adair."),
        ("Who signed?", "Ada Quill", "Ms. Quill"),
        ("Who signed?", "Ada Quill", "<think>Bram Marrow? No, not Ada Quill.</think>Ada Quill"),
        ("Where did they set out from?", "Tromsø", "from Tromsø to Bergen"),
        ("Which number?", "PX-77-L", "PX77L"),
        ("Who is the CEO?", "Ada Quill", "Although not explicitly stated, the CEO appears to be Ada Quill."),
        ("How many species were found?", "57", "57, of which 12 are birds"),
        ("Who led it?", "Ada Quill", "It stood under the leadership of Ada Quill."),
        ("What was it called before 1931?", "Rovers", "It was called Rovers until 1931."),
        ("他把钥匙交给了谁？", "林阿婆", "他把钥匙交给了林阿婆。"),
        ("How many were returned?", "86", "1,204 were sold and 86 were returned."),
        ("What does it cost?", "£1,284.50", "1,284 pounds and 50 pence"),
        ("What does it cost?", "2,800元", "人民币贰仟捌佰元整"),
        ("What does it cost?", "2,800元", "2800块钱"),
        ("When is it?", "10月18日", "十月十八号"),
        ("When does it open?", "下午三点", "15点"),
        ("When does it open?", "下午三点", "下午3:00"),
        ("When does it open?", "6:30 pm", "18.30"),
        ("How long?", "24 months", "2 yrs"),
        ("How long?", "24 months", "Two (2) years"),
        ("How many live there?", "14,200", "~14 200"),
        ("How fast?", "65 km/h", r"\boxed{65\ \text{km/h}}"),
        ("How fast?", "65 km/h", "65 kilometres per hour"),
        ("How fast?", "65 km/h", "$65$ km/h"),
        ("Which number?", "01872 550 118", "+44 1872 550118"),
        ("Which towns?", "Corrie and Dunmuir", "1. Dunmuir\n2. Corrie"),
        ("Who signed?", "Ada Quill", "Bram Marrow, no wait, Ada Quill."),
        ("Who signed?", "Ada Quill", "~~Bram Marrow~~ Ada Quill"),
        ("Who signed?", "not stated", "The notice is silent on this."),
        ("Did it open?", "yes", "That's right, it did."),
        ("Did he pay?", "Yes", "He did, on 4 May."),
        ("What does it cost?", "€7,650.50", "7.650,50 €"),
        ("When was part two written?", "1984", "Part two (1984)"),
        ("Who issued the correction?", "Bergen", "Bergen issued the correction in May."),
        ("How far is it?", "10 minutes", "10 minutes by car, no wait at the gate."),
        ("Who signed?", "Ada Quill", "Bram Marrow. Correction: Ada Quill."),
        ("Which address?", "desk@alm.example", "Desk@Alm.example"),
        ("Which address?", "ada_quill@alm.example", r"It is ada\_quill@alm.example."),
        ("Which account?", "@adaquill", "adaquill"),
        ("How old?", "40", "Forty-one? No: he was born in May.\n\nAnswer: 40"),
        ("How long did it take?", "36 hours", "1.5 days"),
        ("Which colours may it have?", "green, white or grey", "green / white / gray"),
        ("How high did the water rise?", "4 m", "It rose to 4 metres."),
        ("What is the maximum load?", "630 kg", "It can carry up to 630 kg."),
        ("会议什么时候开始？", "14:30", "14点30分"),
        ("Who took the chair?", "Councillor Okoro", "Cllr Okoro took the chair."),
        ("一共多少箱？", "240箱", "240"),
        ("每年上涨多少？", "5%", "百分之五"),
        ("退货率是多少？", "3.6%", "退货率为百分之三点六。"),
        ("占多少？", "三分之一", "1/3"),
        ("带多少水？", "两瓶", "每人2瓶水"),
        ("运费是多少？", "45 元", "¥45。请在七日内付清。"),
        ("How long?", "5 hours", "5h"),
        ("How long?", "2 hours 20 minutes", "140 minutes"),
        ("How long?", "140 minutes", "**2 h 20 min**"),
        ("What does it cost?", "$18.50", "Eighteen dollars and fifty cents"),
        ("When did the job fail?", "01:22:51", "1:22:51 AM"),
        ("When did the job fail?", "01:22", "01:22:51"),
        ("Is it open to cyclists?", "No | not open to cyclists", "Cyclists are not permitted."),
    ],
)
def test_a_gold_counts_in_another_form(question, gold, answer):
    assert score_answer("contains", answer, gold.split(" | "), question).score == 1


@pytest.mark.parametrize(
    ("question", "gold", "answer"),
    [
        ("Who signed it?", "Ada Quill", "In 1912 Ada Quill, a lawyer, signed the lease of the mill in Bergen."),
        ("Who signed it?", "Ada Quill", "In June 1912, the clerk handed the lease to the tenant, Ada Quill."),
        ("Who signed the lease?", "Ada Quill", "Ada Quill from Bergen. The lease was signed on 4 May 1912."),
        ("When was the bridge opened?", "1932", "In 1932. The bridge was opened by King Haakon on a rainy day."),
        ("Where was the treaty signed?", "Bergen", "They met in Bergen, where the treaty was signed by nine states."),
        ("What is the capital of the province?", "Karr", "Karr, although Bo is the largest city of the province."),
        ("Why was it called off?", "heavy rain", "Heavy rain had flooded it, so the referee called it off."),
        ("谁签署了租约？", "沈知秋", "租约是1912年五月签署的，签署人是律师沈知秋。"),
    ],
)
def test_a_right_answer_may_say_more(question, gold, answer):
    assert score_answer("contains", answer, [gold], question).score == 1


@pytest.mark.parametrize(
    ("question", "gold", "answer"),
    [
        ("Which drug did it hold?", "aspirin", "A painkiller; aspirin, to be exact."),
        ("Who was the bride?", "Matilda", "A French princess; her name was Matilda."),
        ("Who wrote it?", "Ada Quill", "A lawyer. Ada Quill wrote it."),
        ("谁写的？", "林阿婆", "一位老人。林阿婆写的。"),
        ("How much notice must be given?", "90 days", "Clause 7\n90 days"),
        ("How many came?", "57", "12 and 45, so 57."),
        ("How old was she?", "24", "1926 minus 1902. She was 24."),
        ("How much would the repair cost?", "€300", "It is estimated at €300, and the work takes 3 days."),
        ("How long is the exam expected to take?", "3 hours", "It is supposed to take 3 hours, but most need 4."),
        ("How old was Ada when she married?", "24", "Ada, aged 24, married Bram, who was 31."),
        ("Who paid for the roof?", "Ada Quill", "Ada Quill donated the money, and Bram Voss built the roof."),
        ("谁设计了桥？", "刘工", "桥最初由刘工设计，后来重修。"),
        ("What was built?", "a bridge", "It was proposed to build a bridge, and the council built it in 1932."),
        ("What is the height of the tower?", "42 m", "It measures 42 m. The tower was built in 1911."),
        ("How long is the flight?", "3 hours", "It takes 3 hours. The flight leaves at 10:30."),
        ("What is the deposit?", "€500", "You'll pay €500; the deposit is returned within 30 days."),
        ("When was the school founded?", "1890", "It dates back to 1890. The school moved in 1950."),
        ("Who is the landlord?", "Ada Quill", "The lease names Ada Quill. The landlord's address is in Bergen."),
        ("合同的租金是多少？", "4500元", "每月4500元，租金须在5号前支付。"),
    ],
)
def test_what_a_right_answer_says_besides_is_no_rival(question, gold, answer):
    assert score_answer("contains", answer, [gold], question).score == 1


@pytest.mark.parametrize(
    "gold", ["fish soup", "Ada Quill", "Harlow & Finch", "90 days", "1890", "林阿婆", "the miller's youngest son"]
)
@pytest.mark.parametrize(
    "frame",
    [
        "Good question. It was {}.",
        "Understood. It is {}.",
        "Sure thing. {}",
        "### Evidence\n{}",
        "Short answer\n{}",
        "Looking at the text; {}.",
        "好的。{}",
        "回答：\n{}",
    ],
)
def test_an_opening_or_a_heading_is_no_answer(frame, gold):
    assert score_answer("contains", frame.format(gold), [gold], "What does the text say?").score == 1


@pytest.mark.parametrize(
    ("golds", "answer"),
    [
        ("Linz | Graz", "Linz lost its hall in 1920, and Graz lost it ten years later."),
        ("1902 | Bergen", "In 1902 he was born. The place was Bergen."),
        ("Booker | Costa", "The novel won the Booker; the Costa was awarded to it in 1999."),
        ("fever | cough", "Patients have fever, and the illness also causes a cough."),
        ("3 | 1902", "In 1902 the fleet sailed; 3 ships were lost."),
        ("Linz | Graz", "The towns are Linz and Graz and nothing else."),
        ("Ada | Bram", "It was signed by Ada and Bram and sent to Karr."),
        ("belt | lid", "It came with a belt and a lid and both fit well."),
        (
            "Linz alpha | Graz alpha | Bo alpha",
            "Linz alpha was lost and found; Graz alpha was lost and found; Bo alpha was lost and found.",
        ),
    ],
)
def test_a_sentence_may_say_more_of_each_part(golds, answer):
    assert all_of(answer, golds.split(" | ")).score == 1


def test_only_one_is_not_all_of_them():
    assert all_of("Only Linz, Graz being closed.", ["Linz", "Graz"]).score == 0
    assert all_of("Only Linz, though Graz has a hall", ["Linz", "Graz"]).score == 0


def test_a_name_that_is_also_a_no_is_a_name():
    assert score_answer("contains", "It was Dr. No.", ["Dr. No", "No"], "Who built it?").score == 1


def test_a_sentence_around_all_parts_has_nothing_too_much():
    assert all_of("We stayed in Paris, France and in Rome.", ["Paris", "Rome"]).score == 1
    assert all_of("It goes by Corrie, The Mound and Dunmuir.", ["Corrie", "The Mound", "Dunmuir"]).score == 1
    assert all_of("There were Ada, Bram's sister, and Cleo.", ["Ada", "Cleo"]).score == 1


def test_an_answer_that_is_not_clear_is_no_no():
    assert choice("It isn't clear.", ["no"], "Is it open?").score == 0
    assert choice("Lorries may not use it.", ["no"], "May lorries use it?").score == 1
    assert choice("The board accepted the plan.", ["yes"], "Did the board accept the plan?").score == 1
    assert choice("The ticket.", ["yes"], "Can the ticket be refunded?").score == 0
    assert choice("The board rejected the plan.", ["no"], "Did the board approve the plan?").score == 1


def test_a_polite_refusal_is_one():
    assert unanswerable("I'm sorry, but the passage does not contain that.", ["not given"]).score == 1
    assert unanswerable("The report says that it is still under investigation.", ["not given"]).score == 1
    assert unanswerable("It is not confirmed, but it was probably an open door.", ["not given"]).score == 0


def test_a_concession_is_no_refusal():
    assert unanswerable("Although not explicitly stated, the heir appears to be Ada.", ["not given"]).score == 0
    assert unanswerable("Although the will names Ada, the heir is not stated.", ["not given"]).score == 1
    assert unanswerable("It doesn't say, but others employ 350, so 350.", ["not given"]).score == 0


def test_a_list_with_more_than_was_asked_for_is_not_all_of_it():
    assert all_of("Linz and Graz", ["Linz", "Graz"]).score == 1
    assert all_of("Linz, Graz and Salzburg", ["Linz", "Graz"]).score == 0
    assert all_of("Linz, but not Graz", ["Linz", "Graz"]).score == 0
    assert all_of("Linz; Graz keeps its hall", ["Linz", "Graz"]).score == 0
    assert all_of("1. Linz 2. Graz", ["Linz", "Graz"]).score == 1
    assert all_of("They lost 2 in Linz, 3 in Graz.", ["Linz", "Graz"]).score == 1
    assert all_of("Linz lost its hall; Graz lost its pool", ["Linz", "Graz"]).score == 1
    assert all_of("The Gazette says 12, the parish register 40.", ["12", "40"]).score == 1


PIECES = ["1", "5 ", "half ", "a, ", "1/2 ", "$1 ", "Voss and ", "第一", "A. ", "the harbour is calm. ", "\n", "two "]


@pytest.mark.parametrize("piece", [*PIECES, "Voss signed, Bram watched; "])
def test_a_long_answer_is_scored_in_time_that_grows_with_its_length(piece):
    began = time.process_time()
    for metric in ("contains", "choice", "all_of", "unanswerable"):
        score_answer(metric, piece * (40_000 // len(piece)), ["12 km", "Voss"], "Which? A. x B. y")
    assert time.process_time() - began < 5
