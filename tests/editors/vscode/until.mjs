export const patience = 90_000; // of a wait, on a slow and busy machine

/** Repeats what asserts until it holds; then what it returned. */
export async function until(what, limit = patience) {
  const end = Date.now() + limit;
  for (;;) {
    try {
      return await what();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
