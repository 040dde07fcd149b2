package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOrders checks that neighbors are exchanged if and only if a caller may see it. Each function without a mutant
// stands beside others that are nearly the same.
func TestOrders(t *testing.T) {
	got := map[string][]string{}
	for _, m := range loaded(t, "orders").candidates {
		what, exchanged := strings.CutPrefix(m.what, "exchange the ")
		if exchanged && !strings.HasPrefix(what, "operands") {
			got[m.function()] = append(got[m.function()], what)
		}
	}
	want := map[string][]string{
		// Two refusals commute if they return the same, neither makes a call, and neither protects the other.
		"box.refuseGuarded":   {`statements "if b.full { return false }" and "if o.next.size > 1 { return false }"`},
		"box.refuseAsked":     {`statements "if b.full { return false }" and "if ask() { return false }"`},
		"box.refuseOtherwise": {`statements "if b.size > n { return 1 }" and "if b.name == "" { return 2 }"`},
		"box.refuseNothing":   {`statements "if b == nil { return false }" and "if b.full { return false }"`},
		// Conditions that contradict each other, unless the first changes an operand of the second, or an index is out of
		// range.
		"box.contradictUntilAsked": {
			`statements "if b.full && ask() == nil { return nil }" and ` +
				`"if !b.full && ask() == nil { return errFull }"`,
		},
		"box.contradictAndGoOn": {
			`statements "if err == nil && b.full { err = errFull }" and ` +
				`"if err != nil && b.size > 1 { return err }"`,
		},
		"contradictTooShort": {
			`cases "len(path) > 2 && path[0] == "api"" and ` +
				`"len(path) > 3 && path[4] == "x" && path[0] == "apis""`,
		},
		// Each branch returns the operand that the other compares, unless it returns another one.
		"crossWithAnother": {`statements "if b == 0 { return a }" and "if a == 1 { return c }"`},
		// The greatest is the same in any order, unless it is read in between, or it is not the greatest.
		"latest":  {`statements "if more() { later(b) }" and "later(since.Add(1))"`},
		"another": {`statements "set(a)" and "set(b)"`},
		// An assigned value is lost when the function returns, unless the function goes on, or the value is shared.
		"leaveOneOut":         {`statements "if n < 0 { continue }" and "sum += n"`},
		"leaveWhatOthersKnow": {`statements "if n == 0 { return false }" and "b.size = n"`},
		"leaveWhatIsReturned": {`statements "if n == 0 { return b }" and "b.size = n"`},
		"leaveWhatIsInIt":     {`statements "if n == 0 { return nil }" and "b.next.size = n"`},
		"leaveWhatWasGiven": {`statements "keep(b)" and "if n == 0 { return }"`,
			`statements "if n == 0 { return }" and "b.size = n"`},
		"box.leaveWhatIsRead": {`statements "defer func() { b.full = done }()" and "if n == 0 { return }"`,
			`statements "if n == 0 { return }" and "done = true"`},
		"box.leaveWhatIsReadInALoop": {`statements "if n == 0 { return }" and "size = n"`,
			`statements "size = n" and "go func() { b.size = size }()"`},
		"leaveWhatIsRecovered": {`statements "if n > 3 { size = n }" and "if []int{1, 2, 3}[n] == 1 { return 0 }"`,
			`values "1" and "2"`, `values "2" and "3"`},
		"leaveAsItIs":  {`statements "if n > 3 { size = n }" and "if n > 5 { return }"`},
		"declareAgain": {`statements "if !ok { return x }" and "y, ok := m["y"]"`},
		// A guard that protects a statement stays before it, and so does one that leaves before a call.
		"follow":           {`statements "if o == nil { return 0 }" and "size := o.size"`},
		"computeOfNothing": {`statements "if !ok { return 0, nil }" and "n, err := strconv.Atoi(o.name)"`},
		"compareVersions":  {`arguments "a" and "b"`},
		"ask":              {`statements "if known { return 0, nil }" and "n, err := of(text)"`},
		// A loop over an empty list does nothing, unless the loop changes the list.
		"rangeAndGrow": {
			`statements "if len(list) == 0 { return 0 }" and ` +
				`"for _, s := range list { list = append(list, s) }"`,
		},
		"rangeAndEmpty": {`statements "if len(m) == 0 { return 0 }" and "for key := range m { delete(same, key) }"`},
		// The order of a list that a loop takes does not matter, unless the loop treats the first or the last differently.
		"eachIsPutAfterAnother":   {`values "a" and "b"`},
		"eachIsPutDifferently":    {`values "a" and "b"`},
		"eachIsMeasuredByTheLast": {`values "a" and "b"`},
		"eachIsReturned":          {`values "a" and "b"`},
		"eachIsAsked":             {`values "a" and "b"`},
		// A symmetric function takes its arguments in any order, and one that removes takes its keys in any order.
		"argumentsOfOthers": {`arguments "a" and "b"`, `arguments "a" and "b"`},
		"removedByTurns":    {`arguments "f" and "g"`},
		"pair":              {`arguments ""%s %s"" and "a"`, `arguments "a" and "b"`},
		"added":             {`arguments ""x"" and ""y""`},
		"key":               {`arguments ""%s/%s"" and "a"`, `arguments "a" and "b"`},
		"containedAndAsked": {`values "next()" and "text"`},
		// The greatest of some values, unless it is the last of them, or may be NaN, or is read in between.
		"lastSetOf":             {`arguments "a" and "b"`},
		"greatestOfFloats":      {`arguments "a" and "b"`},
		"eachIsPassedByTheLast": {`values "a" and "b"`},
		// An empty list needs no sorting, unless the condition does not say that, or another list is sorted.
		"sortOne":     {`statements "if len(list) == 1 { return nil }" and "slices.Sort(list)"`},
		"sortAnother": {`statements "if len(list) == 0 { return nil }" and "slices.Sort(other)"`},
		// An empty map answers as a nil map does, unless a key is set, or the whole map is read.
		"box.lookUp":       {`statements "n = b.index[key]" and "b.index[key] = n + 1"`},
		"box.lookUpFilled": {`statements "if b.index == nil { b.index = map[string]int{"x": 1} }" and "n = b.index[key]"`},
		"box.lookUpWhole":  {`statements "if b.index == nil { b.index = map[string]int{} }" and "m = b.index"`},
		"box.putIn":        {`statements "if b.index == nil { b.index = map[string]int{} }" and "b.index[key] = 1"`},
		// A method with a copy of a variable cannot change the variable; one with its address can.
		"leaveWhatIsPointedAt": {`statements "keep()" and "if n == 0 { return false }"`,
			`statements "if n == 0 { return false }" and "b.size = n"`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestNanoseconds checks that a duration of 0 is changed by more than a nanosecond, so that a test can notice it.
func TestNanoseconds(t *testing.T) {
	got := map[string]string{}
	for _, m := range loaded(t, "orders").candidates {
		if to, ok := strings.CutPrefix(m.what, "change the constant 0 to "); ok {
			got[m.function()] = to
		}
	}
	if got["isOver"] != "3600000000000" || got["isNone"] != "1" {
		t.Errorf("want an hour of a duration, and one of another number, got %v", got)
	}
}
