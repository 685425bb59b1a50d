/** The relations of Universal Dependencies, each with its group, its name and a definition in one line. The only such table. */

/** Group → its name. Each has a colour, `--NAME`, in style.css. */
export const GROUPS = {
  root: "Root",
  core: "Core arguments",
  clause: "Other dependents of clauses",
  nominal: "Dependents of nominals",
  function: "Function words",
  coordination: "Coordination",
  phrase: "Compounds, lists and loose parts",
  other: "Punctuation and others",
};

const RELATIONS = {
  root: ["root", "root", "the word that heads the whole sentence"],

  nsubj: ["core", "nominal subject", "a nominal that is the subject of a clause"],
  obj: ["core", "object", "the second core argument of a verb, typically what it acts on"],
  iobj: ["core", "indirect object", "a further core argument of a verb, typically who receives something"],
  csubj: ["core", "clausal subject", "a clause that is the subject of another clause"],
  ccomp: ["core", "clausal complement", "a clause that is a core argument and has a subject of its own"],
  xcomp: ["core", "open clausal complement", "a clause that is a core argument and takes its subject from outside"],

  obl: ["clause", "oblique nominal", "a nominal that modifies a verb or adjective: time, place, means or another participant"],
  vocative: ["clause", "vocative", "the person or thing that is addressed"],
  expl: ["clause", "expletive", "a word without a meaning of its own in the place of an argument, such as existential “there”"],
  dislocated: ["clause", "dislocated element", "a phrase before or after the clause that says again what an argument says"],
  advcl: ["clause", "adverbial clause", "a clause that modifies a verb or adjective: when, why, if, in order to"],
  advmod: ["clause", "adverbial modifier", "an adverb that modifies a verb, an adjective or another word"],
  discourse: ["clause", "discourse element", "an interjection, a filler or an emoticon outside the grammar of the clause"],

  nmod: ["nominal", "nominal modifier", "a nominal that modifies another nominal"],
  appos: ["nominal", "apposition", "a nominal right after another one that names or describes the same thing"],
  nummod: ["nominal", "numeric modifier", "a number that says how many"],
  acl: ["nominal", "adnominal clause", "a clause that modifies a nominal"],
  amod: ["nominal", "adjectival modifier", "an adjective that modifies a nominal"],

  aux: ["function", "auxiliary", "a function verb that adds tense, mood, aspect or voice to a verb"],
  cop: ["function", "copula", "a word that links a subject to a predicate that is not a verb"],
  mark: ["function", "marker", "a word that marks a clause as subordinate: “that”, “if”, “to”"],
  det: ["function", "determiner", "an article, demonstrative or quantifier of a nominal"],
  clf: ["function", "classifier", "a word that goes with a number or determiner and sorts the noun into a class"],
  case: ["function", "case marking", "a preposition, postposition or clitic that marks the role of a nominal"],

  conj: ["coordination", "conjunct", "a further member of a coordination; its head is the first member"],
  cc: ["coordination", "coordinating conjunction", "“and”, “or”, “but”: depends on the member that follows it"],

  fixed: ["phrase", "fixed expression", "a further word of a frozen expression that works like one function word"],
  flat: ["phrase", "flat expression", "a further part of a name, date or number without a head of its own"],
  compound: ["phrase", "compound", "a part of a compound word"],
  list: ["phrase", "list", "a further item of a list without conjunctions, such as an address"],
  parataxis: ["phrase", "parataxis", "a clause placed beside another one, such as “she said” or a comment in brackets"],
  orphan: ["phrase", "orphan", "a dependent of a word that was left out and is replaced by one of its sisters"],
  goeswith: ["phrase", "goes with", "the rest of a word that was split by mistake"],
  reparandum: ["phrase", "repaired part", "words that the speaker takes back and replaces"],

  punct: ["other", "punctuation", "a punctuation mark"],
  dep: ["other", "unspecified dependency", "a relation that could not be determined more exactly"],
};

/** Subtypes: a name, and a definition if it says more than that of the relation. */
const SUBTYPES = {
  "acl:relcl": ["relative clause", "a clause that modifies a nominal and refers to it"],
  "acl:relat": ["relative clause", "a clause that modifies a nominal and refers to it"],
  "advcl:relcl": ["relative clause that modifies a whole clause"],
  "advmod:emph": ["emphasizing word", "“only”, “even”, “also”"],
  "advmod:neg": ["negation"],
  "aux:pass": ["auxiliary of the passive"],
  "cc:preconj": ["first part of a double conjunction", "“both”, “either”"],
  "ccomp:obj": ["clausal complement in the place of the object"],
  "compound:lvc": ["noun or adjective that forms one predicate with a light verb"],
  "compound:prt": ["particle of a verb", "“up” in “give up”"],
  "compound:redup": ["repeated word"],
  "compound:svc": ["further verb of a serial verb construction"],
  "csubj:outer": ["clausal subject of a predicate that is itself a clause"],
  "csubj:pass": ["clausal subject of a passive clause"],
  "det:poss": ["possessive determiner"],
  "det:predet": ["word before a determiner", "“all” in “all the books”"],
  "expl:impers": ["reflexive that makes a verb impersonal"],
  "expl:pass": ["reflexive that makes a verb passive"],
  "expl:pv": ["reflexive that belongs to its verb"],
  "flat:foreign": ["further word of a foreign expression"],
  "flat:name": ["further part of a name"],
  "nmod:desc": ["title or description beside a name"],
  "nmod:poss": ["possessive modifier"],
  "nmod:tmod": ["modifier of time without a preposition"],
  "nmod:unmarked": ["modifier without a preposition"],
  "nsubj:outer": ["subject of a predicate that is itself a clause"],
  "nsubj:pass": ["subject of a passive clause"],
  "nummod:gov": ["number that determines the case of its noun"],
  "obl:agent": ["agent of a passive clause"],
  "obl:arg": ["oblique that the verb requires"],
  "obl:mod": ["oblique that the verb does not require"],
  "obl:tmod": ["oblique of time without a preposition"],
  "obl:unmarked": ["oblique without a preposition"],
};

/** Return the group, the name and the definition of a relation. A subtype that is not known is told by its relation. */
export function explain(deprel) {
  const [base, ...subtype] = deprel.split(":");
  const [group, name, text] = Object.hasOwn(RELATIONS, base) ? RELATIONS[base] : ["other", "", ""];
  if (Object.hasOwn(SUBTYPES, deprel)) return { group, name: SUBTYPES[deprel][0], text: SUBTYPES[deprel][1] ?? text };
  return { group, name: name && subtype.length ? `${name}, ${subtype.join(":")}` : name, text };
}

/** Return all relations with a definition, in the order of their groups. */
export const known = () => [...Object.keys(RELATIONS), ...Object.keys(SUBTYPES)];
