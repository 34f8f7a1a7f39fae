/**
 * A trade by a client whose types openapi-typescript makes of /openapi.json, as
 * "./schema": tests/contract/test_generators.py checks the types and runs it.
 */

import createClient from "openapi-fetch";

/**
 * Mint two items, swap one, offer it for the other, complete that, and swap again.
 *
 * @param {string} baseUrl of the service
 * @param {string} strong a strong secret
 * @returns what is spent and unspent then, and how the last swap is refused
 */
export async function trade(baseUrl, strong) {
  /** @type {import("openapi-fetch").Client<import("./schema").paths>} */
  const api = createClient({ baseUrl });

  const minted = await api.POST("/v1/mint", { body: { outputs: ["+5.one"] } });
  const outputs = [{ amount: 2, secret: "two" }];
  const paid = await api.POST("/v1/mint", { body: { outputs, metadata: {} } });
  if (!minted.data || !paid.data) throw new Error("not minted");

  const own = minted.data.rawOutputs;
  const price = paid.data.rawOutputs;
  const given = [`+5.${minted.data.itemId}.three`];
  const taken = [`+5.${minted.data.itemId}.four`];
  const wanted = [`+2.${paid.data.itemId}.${strong}`];
  await api.POST("/v1/swap", { body: { inputs: own, outputs: given } });
  const offer = await api.POST("/v1/offers", {
    body: { inputs: given, outputs: wanted },
  });
  if (!offer.data) throw new Error("not offered");

  await api.POST("/v1/offers/{id}/complete", {
    params: { path: { id: offer.data.offerId } },
    body: { inputs: price, outputs: taken },
  });
  const { error } = await api.POST("/v1/swap", {
    body: { inputs: own, outputs: given },
  });
  // @ts-expect-error -- the codes are known, and this is none of them
  if (!error || error.code === "anything") throw new Error("not refused");
  const { code, detail } = error;
  return [[...own, ...given, ...price], [...wanted, ...taken], code, detail];
}
