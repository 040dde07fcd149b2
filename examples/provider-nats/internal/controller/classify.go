package controller

import (
	"net/http"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// Codes of JetStream for which the client of NATS has no names. They are those of errors.json in
// nats-server 2.15.
const (
	codeAccountResources  jetstream.ErrorCode = 10002
	codeNoPeers           jetstream.ErrorCode = 10005
	codeInvalidRequest    jetstream.ErrorCode = 10012
	codeNameTaken         jetstream.ErrorCode = 10013
	codeMaximumConsumers  jetstream.ErrorCode = 10026
	codeMaximumStreams    jetstream.ErrorCode = 10027
	codePeerNotMember     jetstream.ErrorCode = 10040
	codeServerNotMember   jetstream.ErrorCode = 10044
	codeInvalidConfig     jetstream.ErrorCode = 10052
	codeSubjectOverlap    jetstream.ErrorCode = 10065
	codeReplicas          jetstream.ErrorCode = 10074
	codeUnfiltered        jetstream.ErrorCode = 10099
	codeFilterOverlap     jetstream.ErrorCode = 10100
	codeMoveInProgress    jetstream.ErrorCode = 10124
	codeConsumerGone      jetstream.ErrorCode = 10149
	codeMemberChange      jetstream.ErrorCode = 10202
	codeReconfigureActive jetstream.ErrorCode = 10226
)

// Reasons of terminal errors.
const (
	reasonInvalidName          = "InvalidName"
	reasonSubjectsOverlap      = "SubjectsOverlap"
	reasonFiltersOverlap       = "FiltersOverlap"
	reasonInvalidConfiguration = "InvalidConfiguration"
	reasonImmutableField       = "ImmutableField"
	reasonStreamNotFound       = "StreamNotFound"
	reasonLimitReached         = "LimitReached"
)

// classify adds to an error of NATS what the reconciler acts on: that the name is taken, or that a retry is
// useless until the spec or NATS is changed. A lack of space, leaders and peers passes by itself, and stays
// a plain error. Failures of NATS as a whole are marked before.
func classify(err error, doing, what string) error {
	if err == nil {
		return nil
	}

	wrapped := errors.Wrapf(err, "cannot %s %s", doing, what)

	var answer jetstream.JetStreamError
	if !errors.As(err, &answer) || answer.APIError() == nil {
		return wrapped
	}

	switch api := answer.APIError(); {
	case api.ErrorCode == jetstream.JSErrCodeStreamNameInUse, api.ErrorCode == jetstream.JSErrCodeConsumerExists,
		api.ErrorCode == codeNameTaken && doing == "create":
		return external.AlreadyExists(wrapped)
	case api.ErrorCode == jetstream.JSErrCodeStreamNotFound && doing == "create":
		return awaiting(wrapped)
	case api.ErrorCode == codeSubjectOverlap:
		return external.Terminal(reasonSubjectsOverlap, errors.Wrap(wrapped,
			"another stream stores some of the subjects: change spec.forProvider.subjects here or the other stream"))
	case api.ErrorCode == codeUnfiltered, api.ErrorCode == codeFilterOverlap:
		return external.Terminal(reasonFiltersOverlap, errors.Wrap(wrapped,
			"another consumer takes some of the messages, and each message of the stream is for one: "+
				"change spec.forProvider.filterSubjects here or the other consumer"))
	case api.ErrorCode == codeNameTaken && doing == "update":
		return errors.Wrap(wrapped, "the deliver subject can only be changed while it has no subscriber")
	case isLimit(api):
		return external.Terminal(reasonLimitReached, errors.Wrap(wrapped,
			"the account may not have more: raise its limits in NATS, ask for less, or delete what is not needed"))
	case isMistake(api):
		return external.Terminal(reasonInvalidConfiguration,
			errors.Wrap(wrapped, "NATS does not accept spec.forProvider: correct it"))
	default:
		return wrapped
	}
}

// awaiting marks a consumer whose stream does not exist, and has to be created by a user.
func awaiting(err error) error {
	return external.Terminal(reasonStreamNotFound,
		errors.Wrap(err, "waiting for the stream: create it, or correct spec.forProvider.stream"))
}

// isLimit reports whether a limit of the account, or of the stream of a consumer, is reached.
func isLimit(api *jetstream.APIError) bool {
	switch api.ErrorCode {
	case codeAccountResources, codeMaximumConsumers, codeMaximumStreams:
		return true
	default:
		return false
	}
}

// isMistake reports whether NATS refused the request as such, and not only at this moment.
func isMistake(api *jetstream.APIError) bool {
	switch api.ErrorCode {
	case codeInvalidConfig, codeInvalidRequest, codeReplicas:
		return true
	case codeNoPeers, codePeerNotMember, codeServerNotMember, codeMoveInProgress, codeConsumerGone, codeMemberChange,
		codeReconfigureActive:
		return false
	default:
		return api.Code == http.StatusBadRequest
	}
}
