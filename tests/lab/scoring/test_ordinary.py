"""Ordinary replies that a rule once judged wrongly, and what holds of every gold."""

import pytest
from natural_answers import FOLDER, load_answers

from bookwheel.lab.scoring import contains, exact, score_answer

GOLDS = sorted(
    {
        (answer.question, answer.golds)
        for path in FOLDER.glob("natural_*.txt")
        for answer in load_answers(path)
        if answer.kind == "G"
    }
)
RIGHT = [
    ("contains", "丰河桥塌于何时？", "1643年5月19日", "丰河桥（Battle Bridge）塌于1643年5月19日，三十年战争期间。"),
    (
        "contains",
        "灯塔战役的具体时间是？",
        "1643年5月19日",
        "灯塔战役（the Light）发生于1643年5月19日，三十年战争期间。",
    ),
    ("contains", "What was the revenue growth in 2020?", "12%", "Revenue increased by 12%."),
    ("contains", "What was the change in revenue?", "12%", "It grew by 12%."),
    ("contains", "What was the year-over-year change?", "12%", "Sales declined by 12%."),
    ("contains", "How much did the fund lose?", "€300", "Its value fell by €300."),
    ("contains", "What discount was given?", "10%", "The price was reduced by 10%."),
    ("contains", "How much money was saved?", "€300", "Costs were reduced by €300."),
    ("contains", "How many jobs were cut?", "300", "Staff was reduced by 300."),
    ("contains", "How much weight did he lose?", "12 kg", "His weight dropped by 12 kg."),
    ("contains", "How much cheaper is it?", "€20", "The price dropped by €20."),
    ("contains", "When does it open?", "noon", "It opens at noon."),
    ("contains", "When does it close?", "midnight", "It closes at midnight."),
    ("contains", "When was it?", "four o'clock", "It was four o'clock in the afternoon."),
    ("contains", "When was it?", "ten o'clock", "ten o'clock in the morning"),
    ("all_of", "When does it open and close?", "noon|midnight", "It opens at noon and closes at midnight."),
    ("share_of", "When does it open and close?", "noon|midnight", "It opens at noon and closes at midnight."),
    ("contains", "Was the bridge closed?", "Yes|closed for repair", "Closed for repair."),
    ("contains", "Are pets allowed?", "yes|up to two cats", "Up to two cats."),
    ("contains", "Has Ada children?", "Yes|two", "She has two."),
    ("contains", "Did the vote pass?", "Yes|by 12 votes", "By 12 votes."),
    (
        *("contains", "Does the contract allow subletting?", "Yes|with written consent"),
        "Only with written consent of the landlord.",
    ),
    ("contains", "May I bring a dog?", "No|only guide dogs", "Only guide dogs."),
    ("contains", "是否允许转租？", "允许|是", "允许，但须书面同意。"),
    ("contains", "是否需要预约？", "需要|是", "需要提前两天预约"),
    ("contains", "Will Smith played which role?", "Yes|Genie", "Genie"),
    ("contains", "Are pets allowed?", "Yes|not in the bedrooms", "Not in the bedrooms."),
    ("unanswerable", "When?", "", "The exact date is not given, but the document covers the 1920s."),
    (
        "unanswerable",
        "How much?",
        "",
        "The exact amount is not mentioned, but the document describes the house in detail.",
    ),
    (
        *("unanswerable", "Who?", ""),
        "The document doesn't directly say who the architect was, but it does describe the building.",
    ),
    ("unanswerable", "Who?", "", "The document doesn't explicitly mention that, but you could ask the landlord."),
    ("unanswerable", "Who?", "", "It is not directly stated in the text, but it cannot be inferred either."),
    ("unanswerable", "How much?", "", "The price is not directly given; nobody but the owner knows."),
    ("choice", "Does the contract define income?", "no", "It does not define income."),
    ("choice", "Does the letter name the heir?", "no", "The letter does not name the heir."),
    ("contains", "What was the prize?", "nothing", "Nothing was given to the winner."),
    ("contains", "Who was given the key?", "nobody", "Nobody was given the key."),
    ("contains", "Who won a prize?", "none of the girls", "None of the girls were given a prize."),
    ("contains", "Who is the hero?", "Ada Quill", "The author does not name Bram as the hero; it is Ada Quill."),
    ("contains", "Who came?", "Ada", "The report only mentions Ada; others are not listed."),
    ("contains", "Who came?", "Ada", "It only mentions Ada; no one else is named."),
    ("contains", "How many rooms?", "12", "The brochure only gives 12 rooms; it does not say more."),
    ("contains", "几点关门？", "下午五点", "早上九点到下午五点开放。"),
    ("contains", "几点关门？", "下午五点", "开放到下午五点"),
    ("contains", "What is the maximum fine?", "€500", "The fine ranges from €50 minimum to €500."),
    ("contains", "Who was king after Ada?", "Bram Voss", "Bram Voss had been the duke before he followed her."),
    ("contains", "What did they find?", "a bronze bell", "A bell made of bronze."),
    ("contains", "Why did she close it?", "an allergy to flour", "flour allergy"),
    ("contains", "Why was it cancelled?", "the singer was ill", "It was due to the singer being ill."),
    ("contains", "Why was it cancelled?", "the organist broke his wrist", "Their organist had broken his wrist."),
    (
        *("contains", "Why is the list copied?", "the caller still needs the original order"),
        "Because the original ordering must be preserved for the caller, which still relies on it.",
    ),
    (
        *("contains", "Where did he hide it?", "under the loose floorboard by the stove"),
        "He hid it beneath a loose floorboard next to the stove, then covered the spot with the rug.",
    ),
    ("contains", "How far from the wall must the stove stand?", "40 cm", "It must stand at least 40 cm away."),
    ("contains", "How much notice must be given?", "90 days", "not less than ninety (90) days' notice"),
    ("contains", "How many cars can the ferry carry?", "60", "The ferry can carry up to 60 cars."),
    ("contains", "Who signed?", "Ada Quill", "It could be either of them, but Ada Quill signed it."),
    ("contains", "Who may sign?", "the mayor or the clerk", "The mayor or the clerk; either of them may sign."),
    ("contains", "谁负责接待？", "李敏", "李敏负责接待，王强负责会场。"),
    ("choice", "Which town is older, Riga or Turku?", "Riga", "While Riga is older, Turku is bigger."),
    ("contains", "What was the error?", "disk full", "It reported that the disk was full."),
    ("contains", "What should be done?", "clean the brushes", "Cleaning the brushes fixes it."),
    (
        *("contains", "What is said of subletting?", "it is not allowed without written consent"),
        "Subletting is not allowed without the landlord's written consent.",
    ),
    ("contains", "At what temperature?", "180 °C", "180 degrees"),
    ("contains", "有效期多长？", "三年", "36个月"),
    ("contains", "可以停留多久？", "12个月", "一年"),
    ("contains", "要多久？", "150分钟", "两个半小时"),
    ("contains", "要多久？", "30分钟", "半小时"),
    ("choice", "Are dogs allowed in the garden?", "yes", "Dogs are permitted in the garden but not indoors."),
    ("choice", "Did Anna or Joost paint it?", "Anna", "Although it was long credited to Joost, it is by Anna."),
    ("all_of", "What are the side effects?", "headache|nausea", "It may cause headaches or nausea."),
    ("unanswerable", "How many?", "", 'It only says that there are "many"; no figure is given.'),
    ("unanswerable", "What is the price?", "", "That information is missing from the brochure."),
    ("contains", "What is the maximum weight?", "120 kg", "It must not exceed 120 kg."),
    ("contains", "When did it move?", "March 2011", "In March of 2011."),
    ("contains", "How long?", "90 minutes", "An hour and a half."),
    ("contains", "How long?", "150 minutes", "2½ hours"),
    ("contains", "How long?", "30 minutes", "half an hour"),
    ("contains", "How much?", "£12,500", "twelve and a half thousand pounds"),
    ("contains", "How much water?", "250 ml", "25 cl"),
    ("contains", "How often?", "once a week", "Every week."),
    ("contains", "How often?", "daily", "once per day"),
    ("contains", "门票多少钱？", "80元", "每张80块"),
    ("contains", "平均温度是多少？", "23.5℃", "23.5度"),
    ("contains", "在哪里？", "三楼会议室", "3楼会议室"),
    ("contains", "容量是多少？", "5000毫安时", "5,000 mAh"),
    ("contains", "面积多大？", "90平方米", "90 m²"),
    ("contains", "每天吃几次？", "三次", "每日3次"),
    ("contains", "How long is it expected to take?", "3 hours", "It is expected to take 3 hours, but most need 4."),
    ("contains", "Who wrote it?", "Ada Quill", "It is thought to be by Ada Quill, but nobody knows."),
    ("choice", "Did the patient have a fever?", "yes", "The patient had a fever of 39 °C."),
    ("choice", "Is a deposit required?", "yes", "It is. The deposit is $2,000."),
    ("choice", "Did the board approve the merger?", "yes", "They approved the merger in May."),
    ("choice", "可以开发票吗？", "yes", "能开。"),
    ("all_of", "Which documents?", "Passport|Statement", "| Document |\n|---|\n| Passport |\n| Statement |"),
    ("all_of", "Which parts?", "a drive belt|a hopper lid", "A lid for the hopper, and a drive belt."),
    ("all_of", "Which features?", "dark mode|export to CSV", "- CSV export\n- dark mode"),
    ("set_f1", "Which features?", "dark mode|export to CSV", "- CSV export\n- dark mode"),
    ("all_of", "Which firms?", "Halden & Sons|Northspan", "Halden & Sons and Northspan."),
    ("set_f1", "Which firms?", "Halden & Sons|Northspan", "Halden & Sons and Northspan."),
    ("all_of", "Which towns?", "Linz|Graz", "They went to Linz, Graz and others."),
    ("all_of", "What is needed?", "salt|pepper", "You need salt and pepper and not much else."),
    ("all_of", "要带什么？", "雨衣|手电筒", "请带雨衣、手电筒，午饭不用带。"),
]
WRONG = [
    ("contains", "Did the vote pass?", "Yes|by 12 votes", "No, it failed by 12 votes."),
    ("contains", "May I bring a dog?", "No|only guide dogs", "Yes, but only guide dogs."),
    ("unanswerable", "Who?", "", "The author does not name his sister; it was Ada."),
    ("unanswerable", "Who?", "", "The guide does not name the architect, but the plaque says Ada Quill built it."),
    ("unanswerable", "Who?", "", "It doesn't name Ada, it names Bram."),
    ("unanswerable", "What?", "", "Nothing was given."),
    ("unanswerable", "What?", "", "This was not defined by the court."),
    ("contains", "What was it?", "a red door with a blue frame", "a blue door with a red frame"),
    ("contains", "What was it?", "10 boxes of 20 pens", "20 boxes of 10 pens"),
    ("contains", "What was it?", "a white horse with black spots", "a black horse with white spots"),
    ("contains", "When was it?", "the first week of the second month", "the second week of the first month"),
    ("contains", "What was it?", "two tickets for three days", "three tickets for two days"),
    ("contains", "What was it?", "a car followed by a truck", "a truck followed by a car"),
    ("contains", "What was it?", "a walk from mill to quay", "a walk from quay to mill"),
    ("contains", "What was it?", "sold by the city to the state", "sold by the state to the city"),
    ("contains", "Who was it?", "the king's elder daughter", "the daughter of the elder king"),
    ("contains", "What was it?", "a wine glass", "a glass of wine"),
    ("contains", "What was it?", "a glass of wine", "a wine glass"),
    ("contains", "What was it?", "a coffee cup", "a cup of coffee"),
    ("contains", "What was it?", "a boat by the house", "a house boat"),
    ("share_of", "What was it?", "a red door with a blue frame", "a blue door with a red frame"),
    ("all_of", "What was it?", "a red door with a blue frame|a lamp", "a blue door with a red frame and a lamp"),
    ("choice", "Did Bram win the race against Ada?", "yes", "It was Ada."),
    ("choice", "Was the mayor present?", "yes", "He is the mayor."),
    ("choice", "Was the ship lost in the storm?", "yes", "It was a storm."),
    ("choice", "Did he pay the debt to Ada?", "yes", "It was the debt."),
    ("choice", "Was the debt paid?", "yes", "It has to be paid."),
    ("choice", "Was the debt paid?", "yes", "It must be paid."),
    ("choice", "Was the debt paid?", "yes", "It was to be paid."),
    ("choice", "Was it finished?", "yes", "It was almost finished."),
    ("choice", "Was it finished?", "yes", "It is nearly finished."),
    ("choice", "Is the museum open?", "yes", "It should be open."),
    ("choice", "Is the road safe?", "yes", "It is too safe."),
    ("choice", "Is the road safe?", "yes", "It is less safe."),
    ("choice", "Is he capable?", "yes", "It is a cap."),
    ("choice", "Is the house available?", "yes", "They avail."),
    ("contains", "How long is it?", "12 metres", "12 (feet)"),
    ("contains", "How warm is it?", "30 °C", "30 (°F)"),
    ("contains", "What does it weigh?", "5 kg", "Weight: 5 (pounds)"),
    ("contains", "What does it cost?", "$40", "40 (euros)"),
    ("contains", "How long does it take?", "3 days", "3 (hours)"),
    ("contains", "How many?", "40 million", "40 (thousand)"),
    ("contains", "What is the minimum age?", "18", "Nobody over 18 may enter."),
    ("contains", "How many cats?", "12", "not more than 12"),
    ("contains", "When?", "00:00", "quarter to midnight"),
    ("contains", "When?", "12:00", "ten to noon"),
    ("contains", "How many?", "2.60", "two and a half dozen"),
    ("contains", "How much?", "25 nm", "25 newton metres"),
    ("contains", "Why was it cancelled?", "the singer was ill", "The singer's wife was ill."),
    ("contains", "Why was it cancelled?", "the singer was ill", "The singer was not ill; it rained."),
    ("contains", "Why is it copied?", "the caller still needs the original order", "The caller needs a sorted list."),
    (
        *("contains", "Why is it copied?", "the caller still needs the original order"),
        "The caller no longer needs the original order.",
    ),
    (
        *("contains", "Why is it copied?", "the caller still needs the original order"),
        "The sorter still needs the original order.",
    ),
    ("contains", "What happened?", "the old man bit the dog", "The old man was bitten by the dog."),
    ("contains", "When is it due?", "14 March", "14 March and 21 March; it could be either of them."),
    (
        "contains",
        "When is it due?",
        "14 March",
        "It names 14 March and 21 March. It isn't entirely clear which applies.",
    ),
    ("contains", "线上占多少？", "37%", "37%和12%，文中无法确定是哪一个。"),
    ("contains", "How many came?", "40", "At least 40 came."),
    ("contains", "How old must one be?", "18", "One must be more than 18."),
    ("contains", "What was it?", "a house boat", "It was a house by the boat."),
    ("contains", "What came?", "a long letter to the duke of York", "It was a long letter from the duke of York."),
    ("contains", "Why was it late?", "a technical fault", "The crew was late; a technical fault was ruled out."),
    ("contains", "有效期多长？", "三年", "24个月"),
    ("choice", "Are dogs allowed in the garden?", "yes", "Dogs are allowed indoors, but not in the garden."),
    ("all_of", "Who must be told?", "the caretaker|the insurer", "The caretaker or the insurer, whoever is there."),
    ("unanswerable", "How many?", "", "It only says that there are 40 of them; 12 are given."),
    ("contains", "谁负责接待？", "李敏", "李敏负责会场，王强负责接待。"),
    ("contains", "What is the minimum age?", "18", "Nobody above 18 may enter."),
    ("contains", "By how much did sales grow?", "12%", "They fell by 12%."),
    ("contains", "What caused the fire?", "a faulty cable", "They suspected a faulty cable, but it was arson."),
    ("contains", "Where did they winter?", "Cape Morrow", "They meant to winter at Cape Morrow but the ice came."),
    (
        *("contains", "Who is responsible for printing the posters?", "Joan Whitlock"),
        "Joan Whitlock will call the caterer and Tom Ellery will print the posters.",
    ),
    ("contains", "原因是什么？", "下雨", "不是因为下雨，而是场地被占用。"),
    ("choice", "Does the warranty cover water damage?", "yes", "It covers fire damage."),
    ("all_of", "What does he play?", "accordion|banjo", "He plays the accordion, the banjo and the violin."),
    ("all_of", "Which parts?", "a drive belt|a hopper lid", "It has a drive belt, a hopper lid and a set of burrs."),
    ("all_of", "附赠什么？", "杯刷|收纳袋", "附赠杯刷、收纳袋和说明书。"),
]


@pytest.mark.parametrize(("metric", "question", "golds", "answer"), RIGHT)
def test_an_ordinary_reply_counts(metric, question, golds, answer):
    assert score_answer(metric, answer, golds.split("|"), question).score == 1


@pytest.mark.parametrize(("metric", "question", "golds", "answer"), WRONG)
def test_a_reply_that_only_resembles_the_gold_does_not_count(metric, question, golds, answer):
    assert score_answer(metric, answer, golds.split("|"), question).score < 1


def test_an_answer_that_is_a_gold_contains_it():
    assert len(GOLDS) > 300
    missed = [
        (question, gold)
        for question, golds in GOLDS
        for gold in golds
        if exact(gold, golds).score > contains(gold, golds, question).score
    ]
    assert not missed
