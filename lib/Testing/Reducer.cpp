//===- Reducer.cpp - shrinks a program that shows a fault -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on tokens and brackets, not on syntax trees: a text that does not
// compile costs one try and nothing else, and a fault of the front end itself
// can be reduced as well. Every change is a replacement of a range of the text.
//
//===----------------------------------------------------------------------===//

#include "tdsl/Testing/Reducer.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

#include <cctype>
#include <cstring>
#include <set>
#include <vector>

using namespace tdsl::testing;
using llvm::StringRef;

namespace {
struct Token {
  size_t begin, end;
  /// For a bracket the token that closes or opens it, else 0.
  size_t match = 0;
};

class Reducer {
public:
  Reducer(std::string text,
          llvm::function_ref<bool(const std::string &)> stillFails)
      : text(std::move(text)), stillFails(stillFails) {}
  std::string run();

private:
  void tokenize();
  StringRef at(size_t token) const {
    return StringRef(text).slice(tokens[token].begin, tokens[token].end);
  }
  /// Replaces [begin, end) of the text where the program still fails.
  bool replace(size_t begin, size_t end, StringRef by);
  bool attempt(std::string candidate);
  bool removeChunks(size_t depth);
  bool removeResults();
  bool removeItems();
  bool unwrapBlocks();
  bool simplifyGroups();
  bool simplifyOperators();
  bool lowerNumbers();
  std::vector<std::pair<size_t, size_t>> findChunks(size_t depth) const;
  std::vector<std::pair<size_t, size_t>> splitGroup(size_t open) const;

  std::string text;
  llvm::function_ref<bool(const std::string &)> stillFails;
  std::vector<Token> tokens;
  std::set<std::string> tried;
};
} // namespace

void Reducer::tokenize() {
  tokens.clear();
  std::vector<size_t> open;
  for (size_t i = 0; i < text.size();) {
    unsigned char c = text[i];
    if (std::isspace(c)) {
      ++i;
      continue;
    }
    // A comment: `//` at the start of a line or behind two blanks.
    if (StringRef(text).substr(i).starts_with("//")) {
      size_t line = text.rfind('\n', i);
      StringRef before = StringRef(text).slice(line + 1, i);
      if (before.trim().empty() || before.ends_with("  ")) {
        i = std::min(text.find('\n', i), text.size());
        continue;
      }
    }
    size_t begin = i;
    if (std::isalnum(c) || c == '_') {
      while (i < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[i])) ||
              text[i] == '_' || text[i] == '.'))
        if (StringRef(text).substr(i).starts_with(".."))
          break;
        else
          ++i;
    } else {
      static const char *const longer[] = {"...", "->", "<-", "**", "//",
                                           "==",  "!=", "<=", ">=", ".."};
      i += 1;
      for (const char *word : longer)
        if (StringRef(text).substr(begin).starts_with(word)) {
          i = begin + strlen(word);
          break;
        }
    }
    tokens.push_back({begin, i});
    if (StringRef("([{").contains(c)) {
      open.push_back(tokens.size() - 1);
    } else if (StringRef(")]}").contains(c) && !open.empty()) {
      tokens.back().match = open.back();
      tokens[open.back()].match = tokens.size() - 1;
      open.pop_back();
    }
  }
}

bool Reducer::attempt(std::string candidate) {
  if (candidate.size() > text.size() || candidate == text ||
      !tried.insert(candidate).second || !stillFails(candidate))
    return false;
  text = std::move(candidate);
  tokenize();
  return true;
}

bool Reducer::replace(size_t begin, size_t end, StringRef by) {
  std::string candidate = text.substr(0, begin) + by.str() + text.substr(end);
  // Numbers may be replaced by others of the same length.
  return attempt(std::move(candidate));
}

/// The ranges of the text that are whole statements in brackets of `depth`:
/// lines, joined where a bracket stays open.
std::vector<std::pair<size_t, size_t>> Reducer::findChunks(size_t depth) const {
  std::vector<std::pair<size_t, size_t>> chunks;
  size_t token = 0, level = 0, begin = 0;
  size_t least = 0;
  for (size_t i = 0; i < text.size(); i = begin) {
    size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    size_t before = level;
    least = level;
    for (; token < tokens.size() && tokens[token].begin < end; ++token)
      if (tokens[token].match > token)
        ++level;
      else if (tokens[token].match || at(token) == "}")
        least = std::min(least, level ? --level : 0);
    if (before == depth && least >= depth) {
      // On to the line that closes what this one opens.
      size_t begun = i;
      while (level > depth && end < text.size()) {
        end = std::min(text.find('\n', end), text.size() - 1) + 1;
        for (; token < tokens.size() && tokens[token].begin < end; ++token)
          if (tokens[token].match > token)
            ++level;
          else if (tokens[token].match && level)
            --level;
      }
      chunks.push_back({begun, end});
    }
    begin = end;
  }
  return chunks;
}

/// Leaves out runs of statements, long runs first.
bool Reducer::removeChunks(size_t depth) {
  bool changed = false;
  for (size_t run = findChunks(depth).size(); run >= 1; run /= 2) {
    auto chunks = findChunks(depth);
    for (size_t last = chunks.size(); last > 0;) {
      size_t first = last > run ? last - run : 0;
      if (replace(chunks[first].first, chunks[last - 1].second, "")) {
        changed = true;
        chunks = findChunks(depth);
        last = std::min(first, chunks.size());
      } else {
        --last;
      }
    }
  }
  return changed;
}

/// The ranges between the commas of a bracket.
std::vector<std::pair<size_t, size_t>> Reducer::splitGroup(size_t open) const {
  std::vector<std::pair<size_t, size_t>> items;
  size_t begin = tokens[open].end;
  for (size_t i = open + 1; i < tokens[open].match; ++i) {
    if (tokens[i].match > i) {
      i = tokens[i].match;
      continue;
    }
    if (at(i) == ",") {
      items.push_back({begin, tokens[i].begin});
      begin = tokens[i].end;
    }
  }
  items.push_back({begin, tokens[tokens[open].match].begin});
  return items;
}

/// Leaves out a result: in the head of an entry and in its last tuple.
bool Reducer::removeResults() {
  bool changed = false;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (at(i) != "->" || at(i + 1) != "(")
      continue;
    size_t body = tokens[i + 1].match + 1;
    if (body >= tokens.size() || at(body) != "{" || !tokens[body].match)
      continue;
    size_t close = tokens[body].match - 1;
    if (at(close) != ")")
      continue;
    auto types = splitGroup(i + 1), values = splitGroup(tokens[close].match);
    if (types.size() != values.size() || types.size() < 2)
      continue;
    for (size_t k = types.size(); k-- > 0;) {
      auto without = [](std::string text,
                        std::vector<std::pair<size_t, size_t>> &items,
                        size_t k) {
        size_t begin = k ? items[k - 1].second : items[k].first;
        size_t end = k ? items[k].second : items[k + 1].first;
        return text.erase(begin, end - begin);
      };
      // The later range first, so that the earlier one stays where it is.
      std::string candidate = without(text, values, k);
      candidate = without(candidate, types, k);
      if (attempt(candidate)) {
        changed = true;
        break;
      }
    }
  }
  return changed;
}

/// Leaves out one item of a list in brackets.
bool Reducer::removeItems() {
  bool changed = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].match <= i || at(i) == "{")
      continue;
    auto items = splitGroup(i);
    for (size_t k = items.size(); items.size() > 1 && k-- > 0;) {
      size_t begin = k ? items[k - 1].second : items[k].first;
      size_t end = k ? items[k].second : items[k + 1].first;
      if (replace(begin, end, "")) {
        changed = true;
        items = splitGroup(i);
        k = std::min(k, items.size());
      }
    }
  }
  return changed;
}

/// Puts the statements of a block in the place of the block and its head, and
/// leaves out an `else`.
bool Reducer::unwrapBlocks() {
  bool changed = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].match <= i || at(i) != "{")
      continue;
    size_t line = text.rfind('\n', tokens[i].begin);
    size_t begin = line == std::string::npos ? 0 : line + 1;
    size_t end = tokens[tokens[i].match].end;
    std::string inner = text.substr(
        tokens[i].end, tokens[tokens[i].match].begin - tokens[i].end);
    changed |=
        replace(begin, end, StringRef(inner).ltrim('\n')) ||
        (i && at(i - 1) == "else" && replace(tokens[i - 1].begin, end, ""));
  }
  return changed;
}

/// Puts an item of a bracket in the place of the bracket and of the name before
/// it.
bool Reducer::simplifyGroups() {
  bool changed = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].match <= i || at(i) == "{")
      continue;
    size_t begin = tokens[i].begin;
    // What is called or indexed, with a reduction's list of indices.
    for (size_t k = i; k-- > 0 && tokens[k].end == begin;) {
      unsigned char c = text[tokens[k].begin];
      if (std::isalnum(c) || c == '_')
        begin = tokens[k].begin;
      else if ((at(k) == "]" || at(k) == ")") && tokens[k].match)
        begin = tokens[k = tokens[k].match].begin;
      else
        break;
    }
    size_t end = tokens[tokens[i].match].end;
    for (auto [from, to] : splitGroup(i)) {
      std::string item = StringRef(text).slice(from, to).trim().str();
      if (replace(begin, end, item) ||
          (begin != tokens[i].begin && replace(begin, end, "(" + item + ")"))) {
        changed = true;
        break;
      }
    }
    if (i < tokens.size() && begin != tokens[i].begin && tokens[i].match > i &&
        at(i) == "[" &&
        replace(tokens[i].begin, tokens[tokens[i].match].end, ""))
      changed = true;
  }
  return changed;
}

static bool isOperator(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"+", "-", "*", "/", "//", "%", "**", "@"}, true)
      .Cases({"<", "<=", ">", ">=", "==", "!="}, true)
      .Cases({"and", "or", "then", "else"}, true)
      .Default(false);
}

/// Leaves out one side of an operator, within the brackets or the line that it
/// stands in; of `if c then a else b` what comes before or behind a word.
bool Reducer::simplifyOperators() {
  bool changed = false;
  for (size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (!isOperator(at(i)))
      continue;
    // To the left and right as far as the expression goes.
    size_t left = i, right = i;
    while (left > 0) {
      size_t k = left - 1;
      StringRef word = at(k);
      if (tokens[k].match && tokens[k].match < k)
        k = tokens[k].match;
      else if (tokens[k].match || word == "," || word == "=" || word == "<-" ||
               word == ":" ||
               StringRef(text)
                   .slice(tokens[k].end, tokens[left].begin)
                   .contains('\n'))
        break;
      left = k;
    }
    while (right + 1 < tokens.size()) {
      size_t k = right + 1;
      StringRef word = at(k);
      if (StringRef(text)
              .slice(tokens[right].end, tokens[k].begin)
              .contains('\n') ||
          word == ",")
        break;
      if (tokens[k].match > k)
        k = tokens[k].match;
      else if (tokens[k].match)
        break;
      right = k;
    }
    if (left == i || right == i)
      continue;
    size_t begin = tokens[left].begin, end = tokens[right].end;
    std::string before = text.substr(begin, tokens[i - 1].end - begin);
    std::string behind =
        text.substr(tokens[i + 1].begin, end - tokens[i + 1].begin);
    if (at(i) == "else" || at(i) == "then") {
      size_t then = before.rfind("then ");
      if (at(i) == "else" && then != std::string::npos)
        before = before.substr(then + 5);
    }
    changed |= replace(begin, end, before) || replace(begin, end, behind);
  }
  return changed;
}

bool Reducer::lowerNumbers() {
  bool changed = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    unsigned long long number = 0;
    StringRef word = at(i);
    if (!std::isdigit(static_cast<unsigned char>(word[0])) ||
        word.getAsInteger(10, number))
      continue;
    for (unsigned long long smaller :
         {0ull, 1ull, 2ull, 3ull, number / 2, number - 1})
      if (smaller < number && number > 0 &&
          replace(tokens[i].begin, tokens[i].end, std::to_string(smaller))) {
        changed = true;
        break;
      }
  }
  return changed;
}

std::string Reducer::run() {
  tokenize();
  for (bool changed = true; changed;) {
    changed = removeChunks(0);
    changed |= removeChunks(1);
    changed |= removeChunks(2);
    changed |= unwrapBlocks();
    changed |= removeResults();
    changed |= simplifyOperators();
    changed |= simplifyGroups();
    changed |= removeItems();
    changed |= lowerNumbers();
  }
  return text;
}

std::string tdsl::testing::reduceProgram(
    std::string text,
    llvm::function_ref<bool(const std::string &)> stillFails) {
  return Reducer(std::move(text), stillFails).run();
}
