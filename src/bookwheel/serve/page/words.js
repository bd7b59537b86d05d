// The page's sentences in the reader's language, and numbers and times as it writes them.

import english from "./words-en.js";
import englishDesk from "./words-en-desk.js";
import englishShelf from "./words-en-shelf.js";
import chinese from "./words-zh.js";
import chineseDesk from "./words-zh-desk.js";
import chineseShelf from "./words-zh-shelf.js";

const LANGUAGES = { en: { ...english, ...englishDesk, ...englishShelf }, zh: { ...chinese, ...chineseDesk, ...chineseShelf } };

// Private windows may refuse storage; the page works without it.
export const kept = {
  get(name) {
    try {
      return localStorage.getItem(`bookwheel.${name}`);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`bookwheel.${name}`, value);
    } catch {
      /* only the choice of this visit then */
    }
  },
};

let language = kept.get("language") ?? (navigator.languages?.[0] ?? navigator.language ?? "en").slice(0, 2).toLowerCase();
if (!(language in LANGUAGES)) language = "en";

export const current = () => language;

export function speak(name) {
  language = name;
  document.documentElement.lang = name === "zh" ? "zh-Hans" : "en";
}

// A sentence may have a second form, for a count of one: "{count} steps|{count} step".
export function t(key, values = {}) {
  const [many, one = many] = (LANGUAGES[language][key] ?? LANGUAGES.en[key] ?? key).split("|");
  return (values.count === "1" ? one : many).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export const knows = (key) => key in LANGUAGES.en;

// Making a formatter takes longer than a hundred uses of it, and a step draws dozens of numbers.
const formatters = new Map();
function formatter(kind, options) {
  const key = `${kind} ${language} ${JSON.stringify(options)}`;
  if (!formatters.has(key)) formatters.set(key, new Intl[kind](language, options));
  return formatters.get(key);
}

const written = (options) => (value) => formatter("NumberFormat", options).format(value);
export const number = written({});
export const percent = written({ style: "percent", maximumFractionDigits: 1 });
export const points = (share) => written({ minimumFractionDigits: 1, maximumFractionDigits: 1 })(100 * share);
export const compact = written({ notation: "compact", maximumSignificantDigits: 3 });
export const signed = written({ signDisplay: "exceptZero", minimumFractionDigits: 2, maximumFractionDigits: 2 });
export const exact = written({ maximumSignificantDigits: 7 });
export const figure = (value) => (value && Math.abs(value) < 1e-3 ? value.toExponential(1) : written({ maximumSignificantDigits: 3 })(value));
const kilobytes = written({ style: "unit", unit: "kilobyte", maximumFractionDigits: 0 });
const megabytes = written({ style: "unit", unit: "megabyte", maximumFractionDigits: 1 });
export const size = (bytes) => (bytes < 1e6 ? kilobytes(Math.max(Math.sign(bytes), bytes / 1e3)) : megabytes(bytes / 1e6));

export function duration(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours) return t("time.hours", { hours, minutes });
  if (minutes) return t("time.minutes", { minutes, seconds: whole % 60 });
  return t("time.seconds", { seconds: seconds < 10 ? seconds.toFixed(1) : whole });
}

export function moment(iso) {
  const when = new Date(iso);
  if (Number.isNaN(when.getTime())) return "";
  return formatter("DateTimeFormat", { dateStyle: "medium", timeStyle: "short" }).format(when);
}

export function pages(list) {
  if (!list?.length) return "";
  const [first, last] = [Math.min(...list), Math.max(...list)];
  return first === last ? t("page.one", { first }) : t("page.many", { first, last });
}
