"""A task that hides two birthdays in essays and asks for one of them: `bookwheel data make birthday`."""

from bookwheel.lab.tasks import Fact, SampleDraft, Task, hide_in_essays

NAMES = ("Ada Quill", "Odo Marrow", "Thea Varley", "Nils Inskip")


def build_birthday(request):
    """Return one sample; everything random comes from `request.rng`, so that the same seed gives the same sample."""
    rng = request.rng
    (name, other), (day, other_day) = rng.sample(NAMES, 2), rng.sample(range(1, 32), 2)
    facts = [
        Fact(text=f"The birthday of {name} is on {day} May.", place=rng.random(), note=f"{name}: {day} May"),
        Fact(text=f"The birthday of {other} is on {other_day} May.", place=rng.random()),  # without a note: a decoy
    ]
    question = f"On which day of May is the birthday of {name}? Give the number alone."
    return SampleDraft(question=question, golds=(str(day),), metric="exact", body=hide_in_essays(request, facts))


BIRTHDAY = Task(name="birthday", description="one of two birthdays in essays", build=build_birthday)
