// The address, and who may change it. The view that stands keeps its state there, and a press may lead on from it; both
// only until somebody has gone on: the last press of all decides where the page goes.

let standing = null; // the address of the view that stands; null before the first
let path = pathOf(location.hash);
let visit = 0; // of a path, which a view has for itself

function pathOf(address) {
  return (address.replace(/^#/, "") || "/").split("?")[0];
}

addEventListener("hashchange", () => {
  if (pathOf(location.hash) === path) return;
  path = pathOf(location.hash);
  visit += 1;
});

export function here() {
  const query = location.hash.split("?").slice(1).join("?");
  return { path: pathOf(location.hash), query: new URLSearchParams(query) };
}

// Somebody may have gone on, though the page has not heard of it yet.
export const isStanding = () => location.hash === standing;
export const isWithin = () => standing !== null && pathOf(location.hash) === pathOf(standing);

export function stand() {
  standing = location.hash;
}

// Writes the state of the view that stands into its address; with `leads` as a new entry, from which "back" leads here.
export function rememberAddress(address, leads = false) {
  if (!isStanding()) return;
  if (leads) rememberPlace();
  if (leads && address !== standing) history.pushState(null, "", address);
  else history.replaceState(history.state, "", address);
  stand();
  path = pathOf(standing);
}

// To be asked for when something is pressed: leads on once the server has answered, unless somebody left meanwhile.
export function fromHere() {
  const [mine, from] = [visit, pathOf(location.hash)];
  return (address) => {
    if (mine === visit && pathOf(location.hash) === from) location.hash = address;
  };
}

// How far down an entry of the history was scrolled: "back" leads there.
export const placeHere = () => history.state?.place ?? 0;
export function rememberPlace() {
  if (isStanding()) history.replaceState({ place: Math.round(scrollY) }, "");
}
