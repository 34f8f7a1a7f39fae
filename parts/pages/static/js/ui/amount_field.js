// Reads the amounts that people type into fields.

import { parseAmount, unitsText } from "../format/amounts.js";
import { gettext } from "../format/gettext.js";
import { FieldError } from "./forms.js";

/** Return the amount in a field. @throws {FieldError} */
export function readAmount(field) {
  try {
    return parseAmount(field.value);
  } catch (error) {
    throw new FieldError(field, error.message);
  }
}

/** Return the amount in a field of an item, of which there are no more than all. */
export function readAmountOf(field, item) {
  const amount = readAmount(field);
  if (!item || amount <= item.total) return amount;
  const units = unitsText(item.total, item.unit);
  throw new FieldError(field, gettext("There are only {units} in all.", { units }));
}
