// The files that somebody drops, with those of a folder in the order of their names.

export async function filesOf(transfer) {
  // Both are empty as soon as anything is waited for.
  const [files, entries] = [[...transfer.files], [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean)];
  return entries.some(({ isDirectory }) => isDirectory) ? (await Promise.all(entries.map(list))).flat() : files;
}

async function list(entry) {
  if (entry.isFile) return [await new Promise((take, fail) => entry.file(take, fail))];
  const [reader, found] = [entry.createReader(), []];
  const read = () => new Promise((take, fail) => reader.readEntries(take, fail));
  // A reader gives some at a time, and none at its end.
  for (let some = await read(); some.length; some = await read()) found.push(...some);
  const shown = found.filter(({ name }) => !name.startsWith(".")).sort((one, other) => one.name.localeCompare(other.name));
  return (await Promise.all(shown.map(list))).flat();
}
