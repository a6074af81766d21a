//! The rules of the API, each with the tests that keep it: those of this crate as `module::name`, others by
//! the path of their file. A rule that no test names is not kept, and one that is not served says so.

use std::fs;
use std::path::Path;

/// Where a rule is kept.
enum Kept {
    /// By these tests.
    By(&'static [&'static str]),
    /// Not yet: what is missing.
    Later(&'static str),
}

use Kept::{By, Later};

/// What clients may rely on about requests and answers of every kind.
const JSON: &[(&str, Kept)] = &[
    (
        "keys are read in snake_case and in camelCase",
        By(&[
            "story::every_example_is_what_the_server_takes_and_answers_in_both_spellings",
            "creation::every_field_is_taken_in_either_spelling_and_shown_in_camel_case",
        ]),
    ),
    (
        "enumerations are read by name or number",
        By(&[
            "states::states_are_requested_by_name_or_number_in_either_spelling",
            "peers::both_spellings_names_numbers_and_texts_are_taken",
            "counts::a_graph_has_bars_of_equal_spans_and_the_rows_of_each",
        ]),
    ),
    (
        "64-bit integers are read as numbers or texts",
        By(&[
            "host/json/src/input.rs::integers_are_taken_as_numbers_and_as_texts",
            "logs::entries_are_filtered_paged_and_newest_first",
        ]),
    ),
    (
        "unknown keys are ignored",
        By(&["contract::unknown_keys_are_ignored_and_null_is_absent_on_every_operation"]),
    ),
    (
        "null means absent",
        By(&[
            "host/json/src/input.rs::null_is_absent_everywhere",
            "contract::unknown_keys_are_ignored_and_null_is_absent_on_every_operation",
        ]),
    ),
    (
        "answers have camelCase keys and 64-bit integers as texts",
        By(&[
            "host/json/src/output.rs::fields_are_in_camel_case_and_64_bits_are_texts",
            "stores::slots_are_read_under_the_names_of_clients_with_64_bit_numbers_as_texts",
        ]),
    ),
    (
        "answers have every scalar, also at its default",
        By(&["peers::a_peer_reads_back_in_camel_case_with_every_scalar_and_masked_secrets"]),
    ),
    ("answers have enumerations by name", By(&["mirrors::mirrors_are_listed_with_their_peers_and_states"])),
    (
        "times are RFC 3339 in UTC with as many fraction digits as needed",
        By(&["host/model/src/timestamp.rs::a_moment_is_written_with_as_many_digits_as_it_needs"]),
    ),
    (
        "absent objects and times are null",
        By(&[
            "peers::a_peer_reads_back_in_camel_case_with_every_scalar_and_masked_secrets",
            "batches::a_batch_has_texts_for_numbers_and_times_with_fractions",
        ]),
    ),
    (
        "malformed JSON is 400",
        By(&["contract::a_body_that_is_no_json_object_is_400_on_every_operation_that_takes_one"]),
    ),
    (
        "a wrong JSON type is 400 naming the field's path",
        By(&[
            "contract::a_field_of_another_json_type_is_400_naming_its_path_on_every_operation",
            "envelope::a_wrong_json_type_is_400_naming_the_fields_path",
        ]),
    ),
    (
        "a parameter of the URL is read by the same rules",
        By(&[
            "contract::a_parameter_that_cannot_be_read_is_400_on_every_operation",
            "stores::a_parameter_that_is_missing_twice_there_or_of_another_type_is_400_naming_it",
        ]),
    ),
];

/// Refusals.
const ERRORS: &[(&str, Kept)] = &[
    (
        "every answer that is not a success has code, message and details",
        By(&[
            "story::every_refusal_that_the_document_shows_is_one_that_the_server_gives",
            "conformance::whatever_the_document_allows_or_forbids_the_answer_is_one_that_it_describes",
        ]),
    ),
    (
        "an invalid argument is 400 with code 3",
        By(&["envelope::a_wrong_json_type_is_400_naming_the_fields_path"]),
    ),
    (
        "what is not found is 404 with code 5",
        By(&[
            "creation::an_unknown_peer_is_404_naming_the_field",
            "mirrors::the_status_of_an_unknown_mirror_is_404",
        ]),
    ),
    (
        "what exists already is 409 with code 6",
        By(&["creation::a_duplicate_name_is_409", "scripts::names_are_unique_and_ids_must_exist"]),
    ),
    (
        "a failed precondition is 400 with code 9",
        By(&[
            "creation::every_problem_is_a_detail_of_one_answer",
            "stores::a_store_that_does_not_answer_is_400_with_cause_and_remedy",
        ]),
    ),
    ("what is not served is 501 with code 12", Later("every route is served")),
    (
        "a failure inside is 500 with code 13",
        By(&[
            "envelope::a_panic_inside_is_500_with_the_usual_body_and_the_server_goes_on",
            "scripts::a_compiler_that_fails_is_500_and_tells_nothing_of_the_inside",
            "stores::a_connector_that_answers_another_question_is_500",
        ]),
    ),
    (
        "a catalog that is away is 503 with code 14",
        By(&["envelope::with_the_catalog_away_requests_are_503_and_the_server_is_not_ready"]),
    ),
    (
        "missing credentials are 401 with code 16 and a challenge",
        By(&["authentication::every_route_but_the_health_routes_needs_credentials"]),
    ),
    ("an unknown path is 404 with code 5", By(&["envelope::an_unknown_path_is_404_with_code_5"])),
    (
        "a wrong verb is 405 with the verbs there are",
        By(&[
            "contract::another_verb_is_405_and_says_which_there_are",
            "envelope::a_wrong_verb_is_405_and_says_which_there_are",
        ]),
    ),
    (
        "each offending field has its own detail",
        By(&[
            "creation::every_problem_is_a_detail_of_one_answer",
            "tags::a_tag_that_is_none_is_400_naming_it",
        ]),
    ),
    (
        "creating a peer reports its failure in a success",
        By(&["peers::a_real_connection_is_opened_before_anything_is_stored"]),
    ),
    (
        "changing a state reports its failure in a success",
        By(&[
            "states::an_unknown_mirror_is_ok_false",
            "states::a_state_that_cannot_be_requested_is_refused_with_those_that_can",
        ]),
    ),
    (
        "a malformed request to these two is still 400",
        By(&["contract::a_body_that_is_no_json_object_is_400_on_every_operation_that_takes_one"]),
    ),
    (
        "an unauthenticated request to these two is still 401",
        By(&["contract::without_credentials_every_operation_is_401_whatever_else_is_wrong"]),
    ),
    ("no answer holds a secret", By(&["secrets::no_answer_holds_a_secret"])),
    (
        "no request makes a failure of the server's",
        By(&[
            "host/api/tests/hostile/main.rs::ten_thousand_hostile_requests_leave_the_server_up_its_memory_flat_and_no_secret_told",
            "conformance::whatever_the_document_allows_or_forbids_the_answer_is_one_that_it_describes",
        ]),
    ),
];

/// Who may call.
const AUTHENTICATION: &[(&str, Kept)] = &[
    (
        "every route but the health routes needs HTTP Basic",
        By(&[
            "contract::without_credentials_every_operation_is_401_whatever_else_is_wrong",
            "authentication::every_route_but_the_health_routes_needs_credentials",
        ]),
    ),
    (
        "the usual client sends an empty user and the password",
        By(&["authentication::the_usual_client_sends_an_empty_user_and_the_password"]),
    ),
    (
        "the user's name is the configured one",
        By(&["host/api/src/auth.rs::the_right_pair_is_let_in_and_no_other"]),
    ),
    (
        "a generated password is stored as a digest, which is no password",
        By(&["host/api/src/auth.rs::the_stored_digest_is_no_password"]),
    ),
];

/// Peers.
const PEERS: &[(&str, Kept)] = &[
    (
        "a peer is created with CREATED and an empty message",
        By(&["peers::a_created_peer_answers_created_with_an_empty_message"]),
    ),
    (
        "a peer that cannot be created is FAILED with the reason",
        By(&["peers::a_real_connection_is_opened_before_anything_is_stored"]),
    ),
    (
        "the kind is given as a number or by name, the settings under the kind's key",
        By(&[
            "peers::both_spellings_names_numbers_and_texts_are_taken",
            "peers::settings_that_cannot_be_right_are_refused_all_at_once",
        ]),
    ),
    (
        "a name that exists is refused and nothing changes, unless an update is allowed",
        By(&["peers::an_existing_name_is_refused_and_nothing_changes_unless_allow_update"]),
    ),
    (
        "updates are off by default",
        By(&["peers::an_existing_name_is_refused_and_nothing_changes_unless_allow_update"]),
    ),
    (
        "a real connection comes before anything is stored, unless it is not wanted",
        By(&["peers::a_real_connection_is_opened_before_anything_is_stored"]),
    ),
    (
        "a connection is given 15 seconds",
        By(&["host/control/tests/probe.rs::a_store_that_says_nothing_is_given_up_within_fifteen_seconds"]),
    ),
    (
        "a peer reads back with its kind by name and camelCase settings",
        By(&["peers::a_peer_reads_back_in_camel_case_with_every_scalar_and_masked_secrets"]),
    ),
    (
        "a peer reads back with its store's version",
        By(&[
            "peers::a_peer_reads_back_in_camel_case_with_every_scalar_and_masked_secrets",
            "host/control/tests/probe.rs::a_postgresql_peer_gives_its_version",
            "host/control/tests/probe.rs::a_clickhouse_peer_gives_its_version",
        ]),
    ),
    (
        "a secret reads back as the mask",
        By(&[
            "host/model/src/secret.rs::a_secret_prints_and_serialises_as_the_mask",
            "peers::a_peer_reads_back_in_camel_case_with_every_scalar_and_masked_secrets",
        ]),
    ),
    (
        "an update that sends the mask back keeps the stored secret",
        By(&[
            "peers::the_mask_sent_back_keeps_the_stored_secret",
            "host/model/src/peer/secrets.rs::a_mask_sent_back_keeps_the_stored_secret_and_anything_else_replaces_it",
            "peers::an_update_keeps_the_secret_that_another_one_stored_while_it_connected",
        ]),
    ),
    (
        "a mask that stands for no stored secret is refused",
        By(&["peers::a_mask_that_stands_for_nothing_is_refused_by_field"]),
    ),
    (
        "names are of 1 to 63 letters, digits and three marks",
        By(&[
            "peers::a_name_that_is_no_name_is_refused",
            "host/model/src/name.rs::peers_are_named_by_1_to_63_letters_digits_and_three_marks",
        ]),
    ),
    (
        "a kind that no connector serves is FAILED, naming it and how to install one",
        By(&["peers::a_kind_that_nobody_serves_is_refused_by_name_with_how_to_install_one"]),
    ),
    (
        "settings of PostgreSQL beyond the first five are taken",
        By(&[
            "peers::a_peer_reads_back_in_camel_case_with_every_scalar_and_masked_secrets",
            "envelope::a_wrong_json_type_is_400_naming_the_fields_path",
        ]),
    ),
    (
        "staging settings of ClickHouse are taken flat and nested",
        By(&["peers::staging_settings_are_taken_flat_and_nested"]),
    ),
    (
        "the native default ports of ClickHouse mean their HTTP siblings",
        By(&[
            "host/drivers/clickhouse/src/address.rs::native_ports_mean_their_http_siblings_and_others_mean_themselves",
        ]),
    ),
    (
        "settings of Kafka, refused by name where they cannot be",
        By(&["peers::a_kafka_peer_is_created_read_masked_and_refused_by_field"]),
    ),
    (
        "settings of Snowflake and third parties",
        Later("no connector of theirs is installed, so their kinds are refused by name"),
    ),
    (
        "peers are listed as all, sources and destinations",
        By(&["peers::peers_are_listed_with_what_they_can_be"]),
    ),
    (
        "a peer is validated as VALID or INVALID and nothing is stored",
        By(&["peers::validating_stores_nothing"]),
    ),
    (
        "a peer is dropped unless a mirror uses it",
        By(&["peers::a_peer_is_dropped_only_when_no_mirror_uses_it"]),
    ),
    ("a peer's kind is told", By(&["peers::peers_are_listed_with_what_they_can_be"])),
    (
        "schemas, publications, tables, columns, slots and activity of a peer are listed",
        By(&[
            "stores::schemas_publications_and_tables_are_listed_by_the_names_clients_read",
            "stores::a_table_can_be_mirrored_where_it_has_a_key_or_no_changes_are_wanted",
            "stores::columns_have_their_types_in_the_stores_words_and_the_clients",
            "stores::slots_are_read_under_the_names_of_clients_with_64_bit_numbers_as_texts",
            "stores::what_connections_are_doing_is_listed",
            "tests/e2e/tests/postgres_source/inspection.rs::tables_can_be_mirrored_where_a_mirror_of_them_has_no_problem",
        ]),
    ),
];

/// Mirrors.
const MIRRORS: &[(&str, Kept)] = &[
    (
        "a created mirror answers its workflow's id",
        By(&["creation::a_created_mirror_answers_its_workflow_and_begins_in_setup"]),
    ),
    (
        "every field of a creation is taken",
        By(&["creation::every_field_is_taken_in_either_spelling_and_shown_in_camel_case"]),
    ),
    (
        "excluded columns are a list, or a text with commas",
        By(&["creation::every_field_is_taken_in_either_spelling_and_shown_in_camel_case"]),
    ),
    (
        "a column's setting is named by either key",
        By(&["host/model/src/mirror/table.rs::a_column_is_named_by_either_key"]),
    ),
    (
        "unset and zero numbers take their defaults",
        By(&["creation::unset_and_zero_settings_take_the_defaults"]),
    ),
    (
        "names are like slots' and of 1 to 48 characters",
        By(&[
            "host/model/src/name.rs::mirrors_are_named_like_slots",
            "creation::each_rule_of_a_specification_refuses_with_its_field",
        ]),
    ),
    (
        "a creation is checked before either side is touched, with one detail per problem",
        By(&[
            "creation::every_problem_is_a_detail_of_one_answer",
            "tests/e2e/tests/postgres_source/validation.rs::everything_is_told_at_once_with_its_place_and_a_remedy",
        ]),
    ),
    (
        "the server is asked whether it takes a partition key",
        By(&[
            "plugins/clickhouse/src/engine_tests/validating.rs::a_partition_key_that_the_server_refuses_is_told_and_leaves_no_trace",
        ]),
    ),
    (
        "a duplicate name is 409, an unknown peer 404",
        By(&["creation::a_duplicate_name_is_409", "creation::an_unknown_peer_is_404_naming_the_field"]),
    ),
    (
        "a validation runs the same checks and stores nothing",
        By(&["creation::validating_runs_the_same_checks_and_stores_nothing"]),
    ),
    (
        "attaching to an existing mirror makes creation idempotent",
        By(&["creation::attach_to_existing_makes_creation_idempotent"]),
    ),
    ("the look at both stores can be skipped", By(&["creation::the_look_at_both_stores_can_be_skipped"])),
    ("a resync needs the mirror dropped before", By(&["creation::resync_needs_the_mirror_dropped_first"])),
    (
        "a mirror that only snapshots ends COMPLETED",
        By(&["tests/e2e/tests/main_job.rs::a_mirror_that_only_snapshots_ends_completed_and_leaves_nothing"]),
    ),
    (
        "a new mirror begins in SETUP and goes on",
        By(&[
            "creation::a_created_mirror_answers_its_workflow_and_begins_in_setup",
            "tests/e2e/tests/main_job.rs::a_table_is_loaded_and_every_kind_of_change_follows",
        ]),
    ),
    (
        "pause comes from RUNNING, SNAPSHOT and SETUP",
        By(&[
            "states::pause_comes_from_running_snapshot_or_setup",
            "host/model/src/request.rs::pause_comes_from_running_setup_and_snapshot",
        ]),
    ),
    (
        "resume comes from PAUSED and FAILED",
        By(&["states::resume_comes_from_paused_or_failed", "states::a_mirror_resumes_where_it_was"]),
    ),
    (
        "drop comes from anything not yet dropped, under either name",
        By(&["states::drop_comes_from_anything_not_yet_dropped_under_either_name"]),
    ),
    (
        "a request for the state it has is ok and does nothing",
        By(&[
            "host/model/src/request.rs::resume_comes_from_paused_and_failed_and_goes_where_it_was",
            "states::pause_comes_from_running_snapshot_or_setup",
        ]),
    ),
    (
        "every other request is refused, naming the state and where it could come from",
        By(&[
            "host/model/src/request.rs::a_refusal_names_the_state_and_where_it_could_come_from",
            "states::resume_comes_from_paused_or_failed",
        ]),
    ),
    ("a resync is in place", By(&["states::resync_loads_again_in_place"])),
    (
        "the options of a drop are taken",
        By(&[
            "states::a_drop_keeps_its_options_for_the_run",
            "host/catalog/tests/catalog/mirrors.rs::dropping_removes_progress_and_statistics_only_when_asked",
        ]),
    ),
    (
        "requests at the same time end in one legal state, each with a true answer",
        By(&["states::fifty_contradicting_requests_end_in_one_legal_state_with_every_answer_true"]),
    ),
    (
        "an edit is taken only while PAUSED or FAILED",
        By(&[
            "edits::an_edit_is_taken_only_while_paused_or_failed",
            "edits::a_failed_mirror_takes_an_edit_and_goes_on_with_it",
        ]),
    ),
    (
        "an edit resumes the mirror and answers an empty object",
        By(&["edits::a_successful_edit_answers_an_empty_object_and_resumes"]),
    ),
    ("an edit asks for RUNNING", By(&["edits::an_edit_asks_for_running"])),
    ("zero or empty means unchanged", By(&["edits::zero_and_empty_mean_unchanged"])),
    (
        "a table in both lists is refused",
        By(&["edits::each_rule_of_an_edit_refuses_with_its_field_and_changes_nothing"]),
    ),
    (
        "an added table loads while the others stream",
        By(&["tests/e2e/tests/main_job.rs::a_table_added_by_an_edit_is_loaded_and_follows"]),
    ),
    (
        "an unknown mirror has no batches, is 404 in a status, and ok false in a change",
        By(&[
            "batches::an_unknown_mirror_has_no_batches",
            "mirrors::the_status_of_an_unknown_mirror_is_404",
            "states::an_unknown_mirror_is_ok_false",
        ]),
    ),
    (
        "a status has the first three fields, and the rest where asked",
        By(&[
            "mirrors::a_plain_status_is_name_state_and_time_of_creation",
            "mirrors::a_full_status_has_configuration_progress_and_batches",
        ]),
    ),
    ("parts of a status can be left out", By(&["mirrors::parts_of_a_status_can_be_left_out"])),
    (
        "mirrors are listed with peers, kinds and states, times in milliseconds",
        By(&["mirrors::mirrors_are_listed_with_their_peers_and_states"]),
    ),
    (
        "names of mirrors are listed, dropped ones included",
        By(&["mirrors::a_dropped_mirror_is_terminated_until_its_name_is_used_again"]),
    ),
    (
        "rows are shown over time",
        By(&[
            "counts::a_graph_has_bars_of_equal_spans_and_the_rows_of_each",
            "counts::a_graph_of_an_unknown_mirror_is_404_and_of_an_unknown_span_400",
        ]),
    ),
    (
        "the snapshot's progress is shown by table",
        By(&["mirrors::rows_are_counted_in_total_by_table_and_by_kind"]),
    ),
    (
        "rows are counted by table, by kind and in total",
        By(&[
            "mirrors::rows_are_counted_in_total_by_table_and_by_kind",
            "counts::parts_of_the_total_can_be_left_out",
        ]),
    ),
    (
        "rows are counted at both sides",
        By(&[
            "counts::rows_are_counted_at_both_sides_and_minus_one_is_unknown",
            "counts::counting_refuses_unknown_mirrors_and_tables_and_tells_which_store_is_away",
            "tests/e2e/tests/postgres_source/inspection.rs::rows_are_counted_exactly_and_guessed_only_when_time_is_up",
            "plugins/clickhouse/src/engine_tests/counting.rs::rows_count_once_and_deleted_ones_do_not",
        ]),
    ),
    (
        "tags are replaced and read",
        By(&["tags::tags_are_replaced_and_read_in_their_order", "tags::tags_of_an_unknown_mirror_are_404"]),
    ),
    (
        "both sides are verified row by row",
        By(&[
            "verify::a_verification_is_planned_with_its_tables_and_read",
            "verify::a_verification_is_refused_with_what_is_wrong",
            "tests/e2e/tests/verify.rs::what_a_person_did_at_the_destination_is_found_while_the_mirror_runs",
        ]),
    ),
];

/// Batches and logs.
const RECORDS: &[(&str, Kept)] = &[
    (
        "a batch has texts for numbers, times with fractions, and null without an end",
        By(&["batches::a_batch_has_texts_for_numbers_and_times_with_fractions"]),
    ),
    (
        "no limit and no filter at 0, below and absent",
        By(&["batches::pages_are_nearest_the_given_id_and_counted_from_the_beginning_of_the_order"]),
    ),
    (
        "batches are newest first unless ascending, nearest the given id, counted in pages",
        By(&["batches::pages_are_nearest_the_given_id_and_counted_from_the_beginning_of_the_order"]),
    ),
    ("batches are read by path too", By(&["batches::batches_are_also_read_by_path_and_query"])),
    (
        "a log entry has its mirror, text, lower-case level, milliseconds and id",
        By(&["logs::an_entry_has_its_mirror_text_level_and_milliseconds"]),
    ),
    (
        "logs are filtered by exact name and level in any case, paged, newest first",
        By(&["logs::entries_are_filtered_paged_and_newest_first"]),
    ),
    (
        "another level is 400, a negative number too",
        By(&["logs::wrong_levels_and_negative_numbers_are_400_naming_the_field"]),
    ),
    (
        "without a page size only the total is returned",
        By(&["logs::without_a_page_size_only_the_total_is_returned"]),
    ),
    (
        "more than a thousand a page count as a thousand",
        By(&["logs::a_page_holds_at_most_a_thousand_entries"]),
    ),
    ("the log of a dropped mirror stays readable", By(&["logs::the_log_of_a_dropped_mirror_stays_readable"])),
];

/// Scripts and editions.
const SCRIPTS: &[(&str, Kept)] = &[
    (
        "-1 makes a new script, another id updates it",
        By(&["scripts::a_new_script_gets_an_id_and_an_update_keeps_it"]),
    ),
    (
        "-1 in the path reads all, an unknown id none",
        By(&["scripts::a_new_script_gets_an_id_and_an_update_keeps_it"]),
    ),
    (
        "an update of an unknown id is 404, a taken name 409",
        By(&["scripts::names_are_unique_and_ids_must_exist"]),
    ),
    (
        "another language is 400 naming the three",
        By(&["scripts::wrong_fields_are_400_and_an_unknown_language_names_the_three"]),
    ),
    (
        "scripts in JavaScript",
        By(&["tests/e2e/tests/main_job.rs::a_javascript_script_adds_columns_and_imports_another_one"]),
    ),
    (
        "a script that does not compile is 400 with its place, and nothing is stored",
        By(&["scripts::a_script_that_does_not_compile_is_refused_with_its_place_and_leaves_nothing"]),
    ),
    ("every update makes a version, and versions are listed", By(&["scripts::every_update_makes_a_version"])),
    (
        "a mirror uses the newest version from the next batch on, or a pinned one",
        By(&[
            "tests/e2e/tests/main_job.rs::a_new_version_of_a_script_changes_the_rows_that_follow",
            "host/model/src/script.rs::a_reference_is_a_name_with_or_without_a_version",
        ]),
    ),
    ("a script is deleted unless a mirror uses it", By(&["scripts::a_script_in_use_is_not_deleted"])),
    (
        "a script, stored or not, is tested on records, exactly",
        By(&[
            "script_trials::a_script_that_is_not_stored_is_tried_and_nothing_is_kept",
            "script_trials::what_became_of_each_record_is_told",
            "script_trials::every_digit_goes_in_and_comes_out_and_columns_keep_their_order",
            "script_trials::a_stored_script_is_tried_at_any_version_with_its_tests",
            "script_trials::what_is_wrong_with_a_trial_names_its_place",
        ]),
    ),
    (
        "a script is tested on the last records of a mirror that keeps them, off unless asked for",
        By(&[
            "script_trials::recent_records_are_those_of_a_mirror_that_keeps_them",
            "host/control/src/recent/ring.rs::whatever_comes_the_bytes_are_bounded",
            "tests/e2e/tests/command_line/script_versions.rs::a_mirror_follows_a_version_that_it_is_pinned_to_and_uploaded_wasm",
        ]),
    ),
    (
        "a version is stored when its tests pass, and a failing one is named",
        By(&[
            "script_versions::tests_are_stored_with_a_version_and_stay_until_others_come",
            "script_versions::a_script_that_fails_a_case_is_refused_naming_it_with_what_was_expected_and_what_came",
        ]),
    ),
    (
        "a version says who stored it and what it took up again",
        By(&[
            "script_versions::a_version_says_who_stored_it",
            "script_versions::a_roll_back_is_a_new_version_with_the_code_the_tests_and_the_component_of_an_older_one",
        ]),
    ),
    (
        "a script's component is downloaded with its digest",
        By(&["script_versions::a_component_is_answered_as_bytes_with_its_digest"]),
    ),
    (
        "a mirror is pinned to a version by an edit",
        By(&["script_versions::a_mirror_is_pinned_to_a_version_by_an_edit_and_the_script_stays_in_use"]),
    ),
    (
        "where scripts are disabled they are read and not written, 403 with code 7",
        By(&["scripts::where_scripts_are_disabled_they_are_read_and_not_written"]),
    ),
    (
        "where scripts are disabled a mirror that names one is refused",
        By(&["creation::a_mirror_names_a_script_that_exists_and_is_allowed"]),
    ),
    (
        "the hosted edition has scripts off, the others on",
        By(&["instance::the_hosted_edition_has_scripts_off_and_others_on"]),
    ),
    (
        "a setting overrides the edition's default",
        By(&["host/server/src/settings.rs::scripts_are_off_in_the_hosted_edition_unless_switched_on"]),
    ),
    (
        "the hosted edition ignores a peer's bucket",
        By(&["peers::the_hosted_edition_ignores_a_peers_own_bucket"]),
    ),
    ("the server tells what it is", By(&["instance::the_server_tells_what_it_is"])),
];

/// The description for programs.
const DOCUMENT: &[(&str, Kept)] = &[
    (
        "the document is made of the code and checked in",
        By(&["document::the_document_in_the_repository_is_that_of_the_code"]),
    ),
    (
        "the document is served to those who have credentials",
        By(&["document::the_document_is_served_to_those_who_have_credentials"]),
    ),
    (
        "every example is one that the server takes and answers",
        By(&["story::every_example_is_what_the_server_takes_and_answers_in_both_spellings"]),
    ),
    (
        "every answer is one that the document describes",
        By(&["conformance::whatever_the_document_allows_or_forbids_the_answer_is_one_that_it_describes"]),
    ),
];

const ALL: [&[(&str, Kept)]; 8] = [JSON, ERRORS, AUTHENTICATION, PEERS, MIRRORS, RECORDS, SCRIPTS, DOCUMENT];

/// Whether the test is where it is said to be.
fn is_there(test: &str) -> bool {
    let (place, name) = test.rsplit_once("::").expect("module::name");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = match place {
        file if file.contains('/') => root.join(file),
        module => root.join(format!("host/api/tests/api/{module}.rs")),
    };
    let text = fs::read_to_string(&file).unwrap_or_default();
    text.contains(&format!("fn {name}("))
}

#[test]
fn every_rule_names_tests_that_are_there() {
    let rules = ALL.iter().copied().flatten();
    let broken: Vec<_> = rules
        .flat_map(|(rule, kept)| match kept {
            By(tests) => {
                assert!(!tests.is_empty(), "{rule} is kept by nothing");
                tests.iter().filter(|test| !is_there(test)).map(|test| format!("{rule}: {test}")).collect()
            }
            Later(missing) => {
                assert!(!missing.is_empty(), "{rule}");
                Vec::new()
            }
        })
        .collect();
    assert!(broken.is_empty(), "these tests are not there:\n  {}", broken.join("\n  "));
}
