/** Where the addresses that programs call begin; `/v1beta` and `/v1alpha` are Gemini's. */
export const RELAY_PREFIXES = ['/v1', '/v1beta', '/v1alpha', '/dashboard/billing'] as const
