// Package attempt reads and writes the record of a creation, which consists of annotations of the object. It calls
// nothing: a caller stores the object. Start with [Of], which returns the last attempt, and [CreationMark], which
// returns the creation that succeeded.
package attempt

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The results of attempts. The record of a creation has three times (pending, succeeded, failed), which other runtimes
// understand, and the attempt, which does not depend on clocks: its id while it is pending, "id/succeeded" or
// "id/failed" afterwards.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
)

// MarkPending records an attempt to create as pending, with its time.
//
// Other runtimes read only the times, which have a precision of one second. For these runtimes the pending time is at
// least one second later than the time of the last result. It is also later than the last pending time, even if the
// clock went back, so that a repeated attempt is visible.
func MarkPending(mg resource.Managed, attempt string, now time.Time) {
	for _, before := range []time.Time{meta.GetExternalCreateSucceeded(mg), meta.GetExternalCreateFailed(mg),
		meta.GetExternalCreatePending(mg)} {
		if next := before.Add(time.Second); now.Before(next) {
			now = next
		}
	}
	meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyCreateAttempt: attempt})
	meta.SetExternalCreatePending(mg, now)
}

// OwnUnresolved reports whether a create with unknown result was begun for this object.
func OwnUnresolved(mg resource.Managed) bool {
	id, _ := Of(mg)

	return Unresolved(mg) && !Copied(mg, id)
}

// Unresolved reports whether a create with unknown result has begun, for this object or for the original of a
// copied object. The state ends if a user removes the pending annotation, or abandons the attempt.
func Unresolved(mg resource.Managed) bool {
	if meta.GetExternalCreatePending(mg).IsZero() || Abandoned(mg) {
		return false
	}
	id, result := Of(mg)

	return id != "" && result == "" || meta.ExternalCreateIncomplete(mg) && !resultRemoved(mg, result)
}

// Abandoned reports whether a user has abandoned the last attempt. The result of such an attempt is unknown, or has
// an unknown name.
func Abandoned(mg resource.Managed) bool {
	id, result := Of(mg)
	nameless := result == Succeeded && meta.WasDeleted(mg) && meta.GetExternalName(mg) == ""

	return id != "" && (result == "" || nameless) && mg.GetAnnotations()[meta.AnnotationKeyAbandonAttempt] == id
}

// resultRemoved reports whether another writer has removed the time of the result of the last attempt, and nothing
// else: the result and its time are stored in one write, and no runtime removes a time when it begins another creation.
func resultRemoved(mg resource.Managed, result string) bool {
	return result == Succeeded && meta.GetExternalCreateSucceeded(mg).IsZero() ||
		result == Failed && meta.GetExternalCreateFailed(mg).IsZero()
}

// Creation returns the reference to a creation: the mark is in the annotations of mg, and the external name is the
// external name of named.
func Creation(mg, named resource.Managed) objectstate.CreationRef {
	return objectstate.CreationRef{Mark: CreationMark(mg), Name: meta.GetExternalName(named)}
}

// CreationMark returns the mark of the successful creation of the object's resource. It returns "" if the last attempt
// did not succeed.
func CreationMark(mg resource.Managed) string {
	id, result := Of(mg)
	if Copied(mg, id) {
		return ""
	}
	if id != "" {
		if result != Succeeded {
			return ""
		}

		return mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt]
	}
	succeeded := meta.GetExternalCreateSucceeded(mg)
	if succeeded.IsZero() || succeeded.Before(meta.GetExternalCreateFailed(mg)) {
		return ""
	}

	return mg.GetAnnotations()[meta.AnnotationKeyExternalCreateSucceeded]
}

// Copied reports whether the annotations were made for another object and copied with it. The ID of the attempt shows
// that.
func Copied(mg resource.Managed, id string) bool {
	_, of, bound := strings.Cut(id, "-")
	own := UIDHash(mg)

	return bound && of != string(own[:])
}

// UIDHash returns the 32 bit FNV-1a hash of the UID in hexadecimal digits. Packages hash/fnv and fmt would allocate
// several times in every pass.
func UIDHash(mg resource.Managed) (digits [8]byte) {
	sum := uint32(2166136261)
	for _, b := range []byte(mg.GetUID()) {
		sum = (sum ^ uint32(b)) * 16777619
	}
	var bytes [4]byte
	binary.BigEndian.PutUint32(bytes[:], sum)
	hex.Encode(digits[:], bytes[:])

	return digits
}

// MarkResult records the result of the attempt. Even if the clock went back, the time of the result is not before the
// pending time and not before the number in the ID.
func MarkResult(mg resource.Managed, result string, now time.Time) {
	id, _ := Of(mg)
	now = Latest(now, meta.GetExternalCreatePending(mg), TimeOf(id, now))
	if id != "" {
		meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyCreateAttempt: id + "/" + result})
	}
	if result == Succeeded {
		meta.SetExternalCreateSucceeded(mg, now)
	} else {
		meta.SetExternalCreateFailed(mg, now)
	}
}

// Of returns the id and the result of the last attempt to create.
func Of(mg resource.Managed) (id, result string) {
	id, result, _ = strings.Cut(mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt], "/")

	return id, result
}

// MarkUnknown records that an attempt ended in an error that does not determine its result. The attempt has no result
// then. Runtimes that read only times see a failure, unless the call was interrupted.
func MarkUnknown(mg resource.Managed, err error, now time.Time) {
	if external.IsInterrupted(err) {
		return
	}
	if pending := meta.GetExternalCreatePending(mg); now.Before(pending) {
		now = pending
	}
	meta.SetExternalCreateFailed(mg, now)
}

// IsFailed reports whether the value of an attempt annotation says that the attempt failed.
func IsFailed(attempt any) bool {
	text, _ := attempt.(string)

	return strings.HasSuffix(text, "/"+Failed)
}

// Latest returns the latest of some times.
func Latest(at time.Time, others ...time.Time) time.Time {
	for _, other := range others {
		if other.After(at) {
			at = other
		}
	}

	return at
}

// The number of an id is at most this much later than the recorded time of the attempt. Attempts that were recorded
// before ids had numbers have arbitrary ones.
const numberAhead = 24 * time.Hour

// TimeOf returns the time that the number of an ID stands for. Nothing was recorded of the attempt before that
// time. It is zero if the time is unknown. The argument now is about the time at which the attempt was recorded, or
// later.
func TimeOf(id string, now time.Time) time.Time {
	number := Number(id)
	if at := time.Unix(number, 0); number >= 0 && !at.After(now.Add(numberAhead)) {
		return at
	}

	return time.Time{}
}

// RemoveRecord removes the record of a creation, and leaves the external name.
func RemoveRecord(mg resource.Managed) { meta.RemoveAnnotations(mg, RecordKeys...) }

// RecordKeys are the annotations of the record of a creation, without the external name.
var RecordKeys = []string{
	meta.AnnotationKeyCreateAttempt, meta.AnnotationKeyExternalCreatePending,
	meta.AnnotationKeyExternalCreateSucceeded, meta.AnnotationKeyExternalCreateFailed,
}

// MarkCopied reports whether an ID belongs to an attempt for another object. The times of other runtimes do not
// identify an object.
func MarkCopied(mg resource.Managed, id string) bool {
	_, err := time.Parse(time.RFC3339, id)

	return err != nil && Copied(mg, id)
}

// Precedes reports whether the record is of an attempt that was made before another one.
func Precedes(mg resource.Managed, other string) bool {
	id, _ := Of(mg)
	if id == "" { // another runtime has recorded times only
		id = TimeMark(mg)
	}

	return id != "" && Number(id) < Number(other)
}

// TimeMark returns the latest of the times that the record of a creation has, or "".
func TimeMark(mg resource.Managed) string {
	at := meta.GetExternalCreateSucceeded(mg)
	if pending := meta.GetExternalCreatePending(mg); pending.After(at) {
		at = pending
	}
	if at.IsZero() {
		return ""
	}

	return at.Format(time.RFC3339)
}

// Number returns the number by which two creations or attempts of one object can be ordered. It is the number in
// the ID, or the Unix time if another runtime has recorded the creation. For any other mark it is -1.
func Number(mark string) int64 {
	if at, err := time.Parse(time.RFC3339, mark); err == nil {
		return at.Unix()
	}
	if number, err := strconv.ParseUint(mark[:min(len(mark), 8)], 16, 32); err == nil {
		return int64(number)
	}

	return -1
}

// NewID returns the ID of an attempt for the object. It consists of the number, a random part, the digit of the class
// and a hash of the UID of the object.
func NewID(mg resource.Managed, number int64, random uint32, class int) string {
	return fmt.Sprintf("%08x%08x%x-%s", uint32(min(number, math.MaxUint32)), random, class, UIDHash(mg))
}

// OtherClass reports whether an attempt was made in another class. A shorter ID has no class.
func OtherClass(id string, class int) bool {
	const at = 16
	head, _, _ := strings.Cut(id, "-")

	return len(head) == at+1 && head[at] != '0'+byte(class)
}
