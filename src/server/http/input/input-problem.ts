import type { z } from 'zod'

/**
 * Location of the invalid input and the expected value, in both languages; null if the input as a
 * whole is not an object.
 */
export interface InputProblem extends Record<string, string> {
  fieldZh: string
  fieldEn: string
  problemZh: string
  problemEn: string
}

const TYPES: Readonly<Record<string, { zh: string; en: string }>> = {
  string: { zh: '需要文本', en: 'it must be a text' },
  number: { zh: '需要数字', en: 'it must be a number' },
  int: { zh: '需要整数', en: 'it must be a whole number' },
  boolean: { zh: '需要 true 或 false', en: 'it must be true or false' },
  array: { zh: '需要数组', en: 'it must be an array' },
  object: { zh: '需要 JSON 对象', en: 'it must be a JSON object' },
}

/** Types with a size, and the text for it. */
const COUNTED: Readonly<Record<string, (zh: string, en: string) => { zh: string; en: string }>> = {
  string: (zh, en) => ({ zh: `${zh} 个字符`, en: `its length is ${en} characters` }),
  array: (zh, en) => ({ zh: `${zh} 项`, en: `it has ${en} items` }),
}

/** Returns the first problem. */
export function inputProblem(error: z.ZodError): InputProblem | null {
  const issue = error.issues[0]
  if (issue === undefined || issue.path.length === 0) return null
  const { zh, en } = words(issue)
  const path = issue.path.join('.')
  // Forms send the right types, so this is read by developers, who know the wire's names.
  return { fieldZh: ` ${path} `, fieldEn: path, problemZh: zh, problemEn: en }
}

function words(issue: z.core.$ZodIssue): { zh: string; en: string } {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? { zh: '类型不对', en: 'it has the wrong type' }
    case 'too_big':
      return (
        COUNTED[issue.origin]?.(`最多 ${issue.maximum}`, `at most ${issue.maximum}`) ?? {
          zh: `最大 ${issue.maximum}`,
          en: `it is at most ${issue.maximum}`,
        }
      )
    case 'too_small':
      return (
        COUNTED[issue.origin]?.(`最少 ${issue.minimum}`, `at least ${issue.minimum}`) ?? {
          zh: `最小 ${issue.minimum}`,
          en: `it is at least ${issue.minimum}`,
        }
      )
    case 'invalid_value':
      return {
        zh: `只能是 ${issue.values.map(String).join('、')}`,
        en: `it is one of ${issue.values.map(String).join(', ')}`,
      }
    default:
      return { zh: '格式不对', en: 'it is not in the right form' }
  }
}
