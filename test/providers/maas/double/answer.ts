// The answers of MAAS: JSON, one line of text, or nothing; and the check of the OAuth header.

export interface DoubleAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const json = (value: unknown, status = 200): DoubleAnswer => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(value),
});
export const text = (status: number, body: string): DoubleAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body,
});
export const html = (status: number, body: string, headers = {}): DoubleAnswer => ({
  status,
  type: 'text/html; charset=utf-8',
  body: `<html><body>${body}</body></html>`,
  headers,
});

export interface DoubleKey {
  readonly consumer: string;
  readonly token: string;
  readonly secret: string;
}

/** The header may have its fields in any order. Null: it is right. */
export function refusedKey(header: string, key: DoubleKey, nonces: Set<string>, now: number): DoubleAnswer | null {
  const fields = Object.fromEntries(
    header
      .replace(/^OAuth /, '')
      .split(/,\s*/)
      .map((pair) => {
        const [name = '', ...value] = pair.split('=');
        return [name, decodeURIComponent(value.join('=').replace(/^"|"$/g, ''))];
      }),
  ) as Record<string, string | undefined>;
  const refuse = (why: string): DoubleAnswer => ({
    ...text(401, `Authorization Error: ${why}`),
    headers: { 'www-authenticate': 'OAuth realm="OAuth"' },
  });
  if (fields.oauth_consumer_key !== key.consumer) return refuse('Invalid API key.');
  if (fields.oauth_token !== key.token) return refuse("'Invalid access token: x'");
  if (fields.oauth_signature_method !== 'PLAINTEXT' || fields.oauth_signature !== `&${key.secret}`) {
    return refuse(`'Invalid signature. Expected signature base string: &${key.secret}'`);
  }
  if (now / 1000 - Number(fields.oauth_timestamp) > 300) return refuse("'Expired timestamp: x'");
  const nonce = `${fields.oauth_timestamp} ${fields.oauth_nonce}`;
  if (nonces.has(nonce)) return refuse("'Nonce already used: x'");
  nonces.add(nonce);
  return null;
}
