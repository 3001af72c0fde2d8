// @ts-check
// Texts of every kind that conversations are made of.
import { readFileSync } from 'node:fs'

const ENGLISH = `When the harbour froze in the second week of January, nobody on the island was surprised. The older fishermen had hauled their boats ashore before Christmas, and the shopkeeper had ordered twice the usual flour. What did surprise them was the letter. It came with the last ferry, addressed in a careful hand to a man who had been dead for eleven years, and the postmistress kept it behind the counter for a day before she decided to open it.

She later said that she had only wanted to find a return address. There was none, but there was a photograph of a house that everyone recognised, taken from a hill where no road had ever led. Somebody suggested that it was a joke; somebody else remembered that the surveyors had climbed up there in 1974 with tripods and a dog. By the evening three different stories were going around, and the schoolteacher wrote all of them down, because she believed that a village which argues about its past is still alive.`
const CHINESE = `一月的第二个星期，港口结了冰，岛上没有人感到意外。老渔民们在圣诞节以前就把船拖上了岸，杂货店的老板也订了比往年多一倍的面粉。真正让大家吃惊的是那封信。它随最后一班渡轮送来，字迹工整，收信人却是一位已经去世十一年的老人。邮局的女职员把信在柜台后面放了一整天，才下决心拆开。

她后来说，自己只是想找到寄信人的地址。信里没有地址，却有一张照片，照的是一座人人都认得的房子，拍摄的位置是一个从来没有通过路的山坡。有人说这是恶作剧，也有人记起，1974年勘测队曾经带着三脚架和一条狗爬上去过。到了傍晚，村里已经流传着三个不同的说法。学校的老师把它们全都记了下来，因为她相信，一个还在为过去争论的村子，就还活着。`
const JAPANESE = `一月の第二週に港が凍ったとき、島の人は誰も驚かなかった。年配の漁師たちはクリスマスの前に船を陸へ引き上げていたし、店の主人はいつもの倍の小麦粉を注文していた。驚いたのは手紙のほうだった。最後のフェリーで届いたその手紙は、丁寧な字で、十一年前に亡くなった男に宛てられていた。郵便局の女性は一日カウンターの奥にしまっておき、それから開けることにした。

差出人の住所を知りたかっただけだ、と彼女は後で話した。住所はなかったが、誰もが知っている家の写真が入っていた。道の通ったことのない丘の上から撮られたものだった。冗談だと言う人もいれば、1974年に測量隊が三脚と犬を連れて登ったことを思い出す人もいた。夕方には三つの違う話が広まり、先生はその全部を書きとめた。過去について言い争う村は、まだ生きていると信じていたからだ。`
const KOREAN = `일월 둘째 주에 항구가 얼어붙었을 때 섬사람들은 아무도 놀라지 않았다. 나이 든 어부들은 성탄절 전에 배를 뭍으로 끌어 올려 두었고, 가게 주인은 밀가루를 평소보다 두 배나 주문해 놓았다. 정작 사람들을 놀라게 한 것은 편지였다. 마지막 배편으로 온 그 편지는 십일 년 전에 세상을 떠난 남자 앞으로, 정성스러운 글씨로 적혀 있었다. 우체국 직원은 하루 동안 계산대 뒤에 두었다가 열어 보기로 했다.

나중에 그녀는 보낸 사람의 주소를 찾고 싶었을 뿐이라고 말했다. 주소는 없었지만 누구나 아는 집의 사진이 들어 있었다. 길이 난 적 없는 언덕에서 찍은 것이었다. 장난이라고 하는 사람도 있었고, 1974년에 측량대가 삼각대와 개를 데리고 올라갔던 일을 떠올리는 사람도 있었다. 저녁이 되자 서로 다른 이야기 세 가지가 돌았고, 선생님은 그것을 모두 적어 두었다. 지난 일을 두고 다투는 마을은 아직 살아 있다고 믿었기 때문이다.`
const RUSSIAN = `Когда во вторую неделю января замёрзла гавань, на острове никто не удивился. Старые рыбаки вытащили лодки на берег ещё до Рождества, а лавочник заказал муки вдвое больше обычного. Удивило всех письмо. Оно пришло с последним паромом и было адресовано аккуратным почерком человеку, который умер одиннадцать лет назад. Почтальонша целый день держала его под прилавком, прежде чем решилась открыть.

Потом она говорила, что хотела лишь найти обратный адрес. Адреса не было, зато была фотография дома, который знали все, снятая с холма, куда никогда не вела дорога. Кто-то решил, что это шутка; кто-то вспомнил, что в 1974 году туда поднимались землемеры с треногами и собакой. К вечеру по деревне ходило три разных рассказа, и учительница записала их все.`
const EMOJI = 'Great news 🎉🎉 the build is green ✅ — shipping tonight 🚀 thanks @all 🙏🙏 👩‍👩‍👧‍👦 family plan 🇫🇷🇯🇵🇩🇪 launch 🌍, feedback 👍👍🏽👎 so far 😂🤣😅 coffee ☕️ then sleep 😴💤 '

const here = (/** @type {string} */ path) => readFileSync(new URL(path, import.meta.url), 'utf8')

function json() {
  const lock = JSON.parse(here('../package-lock.json'))
  return JSON.stringify(lock.packages, null, 2)
}

function base64() {
  let state = 1
  const bytes = Uint8Array.from({ length: 6_000 }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state >>> 16
  })
  return Buffer.from(bytes).toString('base64').replace(/.{400}/g, '$&\n')
}

const LENGTH = 8_000

/** Two texts of each kind, of some thousand tokens, the second going on where the first stops. */
export const samples = Object.entries({
  'English prose': ENGLISH,
  Chinese: CHINESE,
  Japanese: JAPANESE,
  Korean: KOREAN,
  Russian: RUSSIAN,
  'JavaScript code': here('../src/js/session.cjs') + here('../src/js/operation.cjs'),
  'Rust code': here('../src/context/compress/plan.rs') + here('../src/session/turn.rs'),
  'JSON, indented': json(),
  'JSON, compact': JSON.stringify(JSON.parse(json())),
  'base64, lines of 400': base64(),
  emoji: EMOJI,
}).map(([kind, text]) => {
  const long = text.repeat(Math.ceil((2 * LENGTH) / text.length))
  return { kind, first: long.slice(0, LENGTH), second: long.slice(LENGTH, 2 * LENGTH) }
})
