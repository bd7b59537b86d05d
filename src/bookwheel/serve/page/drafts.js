// What was typed and not sent, for as long as the tab lives: going back loses nothing.

const key = (name) => `bookwheel.draft.${name}`;

export function draft(name) {
  try {
    return JSON.parse(sessionStorage.getItem(key(name)));
  } catch {
    return null; // no storage here, or not ours
  }
}

export function saveDraft(name, value) {
  try {
    if (value === null) sessionStorage.removeItem(key(name));
    else sessionStorage.setItem(key(name), JSON.stringify(value));
  } catch {
    /* a private window may refuse; a long text may not fit */
  }
}

// What was sent is no draft any more; what was typed since then is.
export function dropDraft(name, sent) {
  if (JSON.stringify(draft(name)) === JSON.stringify(sent)) saveDraft(name, null);
}
