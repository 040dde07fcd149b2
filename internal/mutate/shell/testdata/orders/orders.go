// Package orders has neighbours: those of which no caller sees in which order they stand, and beside them those that are nearly the same.
package orders

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

var errFull = errors.New("full")

type box struct {
	name string
	size int
	full bool
	list []string
	next *box

	index map[string]int
}

func (b *box) named() (string, bool) { return b.name, b.name != "" }

func (b *box) refuseAlike(n int) bool {
	if b.size > n {
		return false
	}
	if b.name == "" {
		return false
	}
	return true
}

func (b *box) refuseGuarded(o *box) bool {
	if b.full {
		return false
	}
	if o.next.size > 1 {
		return false
	}
	return true
}

func (b *box) refuseAsked(ask func() bool) bool {
	if b.full {
		return false
	}
	if ask() {
		return false
	}
	return true
}

func (b *box) refuseOtherwise(n int) int {
	if b.size > n {
		return 1
	}
	if b.name == "" {
		return 2
	}
	return 0
}

func (b *box) refuseNothing() bool {
	if b == nil {
		return false
	}
	if b.full {
		return false
	}
	return true
}

func (b *box) contradict(err error) error {
	if err == nil && b.next.full {
		b.size = 0
		return nil
	}
	if err != nil && b.next.size > 1 {
		return err
	}
	return errFull
}

func (b *box) contradictUntilAsked(ask func() error) error {
	if b.full && ask() == nil {
		return nil
	}
	if !b.full && ask() == nil {
		return errFull
	}
	return nil
}

func (b *box) contradictAndGoOn(err error) error {
	if err == nil && b.full {
		err = errFull
	}
	if err != nil && b.size > 1 {
		return err
	}
	return nil
}

func contradictWithin(path []string) int {
	switch {
	case len(path) > 2 && path[0] == "api":
		return 1
	case len(path) > 3 && path[0] == "apis":
		return 2
	}
	return 0
}

func contradictTooShort(path []string) int {
	switch {
	case len(path) > 2 && path[0] == "api":
		return 1
	case len(path) > 3 && path[4] == "x" && path[0] == "apis":
		return 2
	}
	return 0
}

func cross(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errFull
}

func crossWithAnother(a, b, c int) int {
	if a == 0 {
		return b
	}
	if b == 0 {
		return a
	}
	if a == 1 {
		return c
	}
	return 1
}

func leaveAtOnce(list []int) int {
	sum := 0
	for _, n := range list {
		if n < 0 {
			return 0
		}
		sum += n
	}
	return sum
}

func leaveOneOut(list []int) int {
	sum := 0
	for _, n := range list {
		if n < 0 {
			continue
		}
		sum += n
	}
	return sum
}

func leaveWhatOthersKnow(find func() *box, n int) bool {
	b := find()
	if n == 0 {
		return false
	}
	b.size = n
	return true
}

func leaveWhatIsMade(n int) *box {
	b := &box{}
	if n == 0 {
		return nil
	}
	b.size = n
	return b
}

func leaveWhatIsReturned(n int) *box {
	b := &box{}
	if n == 0 {
		return b
	}
	b.size = n
	return b
}

func leaveWhatIsInIt(of *box, n int) *box {
	b := box{next: of}
	if n == 0 {
		return nil
	}
	b.next.size = n
	return b.next
}

func leaveItself(list []int, b *box) {
	for _, n := range list {
		if n < 0 {
			break
		}
	}
	b.size = 1
}

func leaveWhatWasGiven(keep func(*box), n int) {
	b := &box{}
	keep(b)
	if n == 0 {
		return
	}
	b.size = n
}

func (b *box) leaveWhatIsRead(n int) {
	done := false
	defer func() { b.full = done }()
	if n == 0 {
		return
	}
	done = true
}

func (b *box) leaveWhatIsReadLater(n int) func() int {
	size := 0
	if n == 0 {
		return nil
	}
	size = n
	return func() int { return size }
}

func (b *box) leaveWhatIsReadInALoop(list []int) {
	size := 0
	for _, n := range list {
		if n == 0 {
			return
		}
		size = n
		go func() { b.size = size }()
	}
}

func leaveResults(n int) (size int, err error) {
	if n > 3 {
		size = n
	}
	if n > 5 {
		return 0, nil
	}
	return size, nil
}

func leaveWhatIsRecovered(n int) (size int) {
	defer func() { _ = recover() }()
	if n > 3 {
		size = n
	}
	if []int{1, 2, 3}[n] == 1 {
		return 0
	}
	return 1
}

func leaveAsItIs(n int) (size int) {
	if n > 3 {
		size = n
	}
	if n > 5 {
		return
	}
	return 1
}

func declareAgain(m map[string]int) int {
	x, ok := m["x"]
	if !ok {
		return x
	}
	y, ok := m["y"]
	if !ok {
		return y
	}
	return 1
}

func follow(o *box) int {
	if o == nil {
		return 0
	}
	size := o.size
	return size
}

func followAnother(o *box, list []string) int {
	if o == nil {
		return 0
	}
	size := len(list)
	return size
}

func compute(text string, known bool) (int, error) {
	if known {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	return n, err
}

func compareVersions(a, b string, known bool) (int, error) {
	if known {
		return 0, nil
	}
	n, err := resourceversion.CompareResourceVersion(a, b)
	return n, err
}

func computeOfNothing(find func() (*box, bool)) (int, error) {
	o, ok := find()
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(o.name)
	return n, err
}

func ask(text string, known bool, of func(string) (int, error)) (int, error) {
	if known {
		return 0, nil
	}
	n, err := of(text)
	return n, err
}

func rangeOverNothing(list []string, set map[string]bool) int {
	if len(list) == 0 {
		return 0
	}
	for _, s := range list {
		set[s] = true
	}
	return 1
}

func rangeAndGrow(list []string) int {
	if len(list) == 0 {
		return 0
	}
	for _, s := range list {
		list = append(list, s)
	}
	return len(list)
}

func rangeAndEmpty(m, same map[string]bool) int {
	if len(m) == 0 {
		return 0
	}
	for key := range m {
		delete(same, key)
	}
	return 1
}

func eachIsDeletedFrom(a, b map[string]int) {
	for _, m := range []map[string]int{a, b} {
		delete(m, "x")
		delete(m, "y")
	}
}

func eachIsPutAfterAnother(a, b string, m map[string]bool) {
	for _, key := range []string{a, b} {
		delete(m, "x")
		m[key] = true
	}
}

func eachIsPut(a, b string, m map[string]bool) {
	for _, key := range []string{a, b} {
		m[key] = true
	}
}

func eachIsPutDifferently(a, b string, m map[string]string) {
	for _, key := range []string{a, b} {
		m["x"] = key
	}
}

func eachIsMeasured(a, b int) (most, sum int) {
	for _, n := range []int{a, b} {
		most = max(most, n+1)
		sum += n
	}
	return most, sum
}

func eachIsMeasuredByTheLast(a, b int) (sum int) {
	for _, n := range []int{a, b} {
		sum += n * sum
	}
	return sum
}

func eachIsValid(a, b string) bool {
	for _, s := range []string{a, b} {
		if !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

func eachIsReturned(a, b string) string {
	for _, s := range []string{a, b} {
		if s != "" {
			return s
		}
	}
	return ""
}

func eachIsAsked(a, b func() bool) bool {
	for _, f := range []func() bool{a, b} {
		if f() {
			return false
		}
	}
	return true
}

func same(a, b *box) bool { return a.name == b.name && slices.Equal(a.list, b.list) }

func sameName(a, b *box) bool {
	is, ok := a.named()
	was, ok2 := b.named()
	if !ok || !ok2 {
		return a == b
	}
	return is == was
}

func follows(a, b *box) bool { return a.next == b }

func bothFull(a, b *box) bool { return a.full && b.full }

func arguments(a, b *box) bool { return same(a, b) && sameName(a, b) }

func argumentsOfOthers(a, b *box) bool { return follows(a, b) && bothFull(a, b) }

func RemoveKeys(m map[string]int, keys ...string) {
	for _, key := range keys {
		delete(m, key)
	}
}

func AddKeys(m map[string]int, keys ...string) {
	for i, key := range keys {
		m[key] = i
	}
}

func removed(m map[string]int) { RemoveKeys(m, "x", "y") }

func RemoveAll(m map[string]int, steps ...func()) {
	for _, step := range steps {
		step()
	}
}

func removedByTurns(m map[string]int, f, g func()) { RemoveAll(m, f, g) }

func added(m map[string]int) { AddKeys(m, "x", "y") }

func sentence(a, b string) string { return fmt.Sprintf("the box %s of %s", a, b) }

func key(a, b string) string { return fmt.Sprintf("%s/%s", a, b) }

func pair(a, b string) string { return fmt.Sprintf("%s %s", a, b) }

func contained(b *box, text string) bool { return slices.Contains([]string{b.name, text}, "x") }

func containedAndAsked(next func() string, text string) bool {
	return slices.Contains([]string{next(), text}, "x")
}

func latest(a, b time.Time, more func() bool) (since time.Time) {
	later := func(t time.Time) {
		if t.After(since) {
			since = t
		}
	}
	later(a)
	if more() {
		later(b)
	}
	later(since.Add(1))
	return since
}

func another(a, b int) (n int) {
	set := func(v int) {
		if v > n {
			n = v
		}
	}
	set = func(v int) { n = v }
	set(a)
	set(b)
	return n
}

func isOver(left time.Duration) bool { return left == 0 }

func isNone(n int64) bool { return n == 0 }

func newest(at time.Time, others ...time.Time) time.Time {
	for _, other := range others {
		if other.After(at) {
			at = other
		}
	}
	return at
}

func lastSet(at time.Time, others ...time.Time) time.Time {
	for _, other := range others {
		if !other.IsZero() {
			at = other
		}
	}
	return at
}

func newestOf(a, b time.Time) time.Time { return newest(a, b) }

func lastSetOf(a, b time.Time) time.Time { return lastSet(a, b) }

func greatest(at float64, others ...float64) float64 {
	for _, other := range others {
		if other > at {
			at = other
		}
	}
	return at
}

func greatestOfFloats(a, b float64) float64 { return greatest(a, b) }

func eachIsPassed(now, a, b time.Time) time.Time {
	for _, before := range []time.Time{a, b} {
		if next := before.Add(time.Second); now.Before(next) {
			now = next
		}
	}
	return now
}

func eachIsPassedByTheLast(now, a, b time.Time) time.Time {
	for _, before := range []time.Time{a, b} {
		if next := before.Add(time.Since(now)); now.Before(next) {
			now = next
		}
	}
	return now
}

func sortNothing(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return list
}

func sortOne(list []string) []string {
	if len(list) == 1 {
		return nil
	}
	slices.Sort(list)
	return list
}

func sortAnother(list, other []string) []string {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(other)
	return list
}

func (b *box) lookUp(key string) (n int) {
	if b.index == nil {
		b.index = map[string]int{}
	}
	n = b.index[key]
	b.index[key] = n + 1
	return n
}

func (b *box) lookUpFilled(key string) (n int) {
	if b.index == nil {
		b.index = map[string]int{"x": 1}
	}
	n = b.index[key]
	return n
}

func (b *box) lookUpWhole() (m map[string]int) {
	if b.index == nil {
		b.index = map[string]int{}
	}
	m = b.index
	return m
}

func (b *box) putIn(key string) {
	if b.index == nil {
		b.index = map[string]int{}
	}
	b.index[key] = 1
}

func (b box) measure() int { return b.size }

func (b *box) keeper() func() { return func() { b.size++ } }

func leaveWhatIsCopied(n int) bool {
	b := box{}
	size := b.measure()
	if n == 0 {
		return false
	}
	b.size = n
	return b.measure() > size
}

func leaveWhatIsPointedAt(n int) bool {
	b := box{}
	keep := b.keeper()
	keep()
	if n == 0 {
		return false
	}
	b.size = n
	return true
}
