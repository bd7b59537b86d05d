// Elements from plain values. Text from people, models and documents is inserted as text, never as markup; control
// characters and characters that change the writing direction become U+FFFD, as in views/html.py.

const UNSHOWN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c]/g;

export const shown = (text) => String(text).replace(UNSHOWN, "\ufffd");

// h("p", {class: "small", onclick: f}, "text", node, [nodes], null)
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  return fill(node, ...children);
}

export function fill(node, ...children) {
  node.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false && child !== "")
      .map((child) => (child instanceof Node ? child : shown(child))),
  );
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  return fill(node, ...children);
}

export function refill(node, ...children) {
  node.replaceChildren();
  return fill(node, ...children);
}

// Put these elements into a node, in this order; those that are there already stay, and what the browser knows of them.
export function arrange(node, wanted) {
  const kept = new Set(wanted);
  for (const child of [...node.childNodes]) if (!kept.has(child)) child.remove();
  wanted.forEach((child, at) => node.childNodes[at] === child || node.insertBefore(child, node.childNodes[at] ?? null));
}

// The picture that the page's head names, which the browser has.
export function wheel(turning = false) {
  return h("img", { src: document.querySelector("link[rel=icon]")?.href ?? "/page/wheel.svg", alt: "", class: turning ? "wheel turning" : "wheel", width: 48, height: 48 });
}

// Draw at most once a frame, with the newest values.
export function eachFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}

export function later(milliseconds, act) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...values), milliseconds);
  };
}

export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Over plain HTTP from another machine, browsers offer no clipboard.
  const field = h("textarea", { class: "unseen", value: text });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  return field.remove();
}
