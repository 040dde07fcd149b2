package controller

import (
	"net/http"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// Codes of JetStream that the client of NATS has no names for. They are those
// of errors.json in nats-server 2.15.
const (
	codeAccountResources  jetstream.ErrorCode = 10002
	codeNoPeers           jetstream.ErrorCode = 10005
	codeInvalidRequest    jetstream.ErrorCode = 10012
	codeMaximumConsumers  jetstream.ErrorCode = 10026
	codeMaximumStreams    jetstream.ErrorCode = 10027
	codePeerNotMember     jetstream.ErrorCode = 10040
	codeServerNotMember   jetstream.ErrorCode = 10044
	codeInvalidConfig     jetstream.ErrorCode = 10052
	codeSubjectOverlap    jetstream.ErrorCode = 10065
	codeReplicas          jetstream.ErrorCode = 10074
	codeMoveInProgress    jetstream.ErrorCode = 10124
	codeMemberChange      jetstream.ErrorCode = 10202
	codeReconfigureActive jetstream.ErrorCode = 10226
)

// Reasons of terminal errors.
const (
	reasonSubjectsOverlap      = "SubjectsOverlap"
	reasonInvalidConfiguration = "InvalidConfiguration"
)

// classify says about an error of NATS what a plain error cannot: that the name
// is taken, or that there is no use in trying again until somebody changes the
// spec or NATS. Want of resources, leaders and peers passes by itself, and stays
// a plain error.
func classify(err error, doing, name string) error {
	if err == nil {
		return nil
	}

	wrapped := errors.Wrapf(err, "cannot %s stream %q", doing, name)

	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return external.AlreadyExists(wrapped)
	}

	var answer jetstream.JetStreamError
	if !errors.As(err, &answer) || answer.APIError() == nil {
		return wrapped
	}

	switch api := answer.APIError(); {
	case api.ErrorCode == codeSubjectOverlap:
		return external.Terminal(reasonSubjectsOverlap, errors.Wrap(wrapped,
			"another stream stores some of the subjects: change spec.forProvider.subjects here or the other stream"))
	case isMistake(api):
		return external.Terminal(reasonInvalidConfiguration, errors.Wrap(wrapped, "NATS does not accept spec.forProvider: correct it"))
	default:
		return wrapped
	}
}

// isMistake tells whether NATS refused what was asked for, not the moment when.
func isMistake(api *jetstream.APIError) bool {
	switch api.ErrorCode {
	case codeInvalidConfig, codeInvalidRequest, codeReplicas:
		return true
	case codeAccountResources, codeNoPeers, codeMaximumConsumers, codeMaximumStreams, codePeerNotMember, codeServerNotMember,
		codeMoveInProgress, codeMemberChange, codeReconfigureActive:
		return false
	default:
		return api.Code == http.StatusBadRequest
	}
}
