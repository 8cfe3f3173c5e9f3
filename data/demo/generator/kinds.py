"""Every kind of fault with the axes on which it shows, and every kind of near-miss with its axis."""

from __future__ import annotations

AXES = ("tool_selection", "argument_validity", "sequencing", "result_interpretation", "termination")
SELECTION, ARGUMENTS, ORDER, READING, ENDING = AXES

#: kind -> axis -> why; more than one axis makes a compound fault
FAULTS: dict[str, dict[str, str]] = {
    # tool selection
    "coarse_tool": {SELECTION: "The customer wanted one line cancelled; cancel_order takes the whole order."},
    "wrong_address_tool": {
        SELECTION: "The wish was to send this order elsewhere; update_address_book only changes future orders."
    },
    "return_for_exchange": {
        SELECTION: "The customer asked for an exchange; the agent started a return, although the variant is in stock."
    },
    "answered_without_lookup": {
        SELECTION: "The question needs the refund record (list_refunds); the agent answered from the general rules."
    },
    "same_failing_call": {SELECTION: "The same call was made again unchanged after it had failed for good."},
    "unknown_tool": {SELECTION: "The called tool is not among those the agent has."},
    # argument validity
    "wrong_variant": {
        ARGUMENTS: "The sku is a real variant of the product, but not the one the customer asked for and confirmed."
    },
    "product_id_as_sku": {ARGUMENTS: "A product number stands where a sku belongs."},
    "word_not_allowed": {ARGUMENTS: "The reason is none of the words that the tool's schema allows."},
    "missing_argument": {ARGUMENTS: "A required argument is missing from the call."},
    "wrong_order": {ARGUMENTS: "The order and line exist, but they belong to the customer's other order."},
    "invented_order_id": {ARGUMENTS: "This order number appears in no earlier step; it was made up."},
    "invented_email": {ARGUMENTS: "The customer gave no email address; the agent made one out of the name."},
    "garbled_address": {ARGUMENTS: "The house number in the call is not the one the customer gave and confirmed."},
    "credit_beyond_rule": {
        ARGUMENTS: "The amount is not the credit that the rules give for this delay, nor the one just announced."
    },
    # sequencing
    "change_before_yes": {ORDER: "The change was made before its details were named and the customer agreed."},
    "changed_without_reading": {ORDER: "The order was changed without its record having been read before."},
    "order_before_identity": {ORDER: "The order was opened before the customer's record had been found."},
    "return_before_terms": {ORDER: "The return was started before its terms were checked; the check came after."},
    "repeated_write": {ORDER: "The same change was made a second time although the first had succeeded."},
    "piecemeal_exchange": {
        ORDER: "An order can be exchanged once; the first line was exchanged alone, so the second could not follow."
    },
    # result interpretation
    "amount_misread": {READING: "The amount told to the customer is not the one in the result."},
    "status_misread": {READING: "The state told to the customer is not the one in the result."},
    "wrong_row": {READING: "The price told belongs to another variant in the same result."},
    "date_misread": {READING: "The date told to the customer is not the one in the result."},
    "count_misread": {READING: "The number of variants in stock is not what the result shows."},
    "wrong_sum": {READING: "The total told is not the sum of the amounts in the results."},
    "advice_against_rules": {
        READING: "The customer was told the opposite of what the rules say of how soon this refund arrives."
    },
    "refused_though_allowed": {
        READING: "The terms say that the order is still eligible; the agent read them as expired and refused."
    },
    # termination
    "stopped_early": {ENDING: "The conversation was closed with a request announced at the start left undone."},
    "calls_after_goodbye": {ENDING: "The agent went on calling tools after the customer had said that all was done."},
    "drawn_out_ending": {ENDING: "The customer was done and said so; the agent kept the conversation going."},
    "promised_not_done": {ENDING: "The agent announced the change as about to be made and ended without making it."},
    "asks_again_and_again": {
        ENDING: "The customer had agreed; the agent asked for the same yes again until the customer gave up."
    },
    "loops_until_cut": {ENDING: "The agent repeated itself until the run was cut at the step limit."},
    "broke_off": {ENDING: "The run ended in an error of the agent before anything was said."},
    # compound: one failure that shows on two axes
    "misreported_scope": {
        SELECTION: "The customer wanted one line cancelled; the whole order was cancelled.",
        READING: "The result shows a refund for the whole order; the customer was told of one line and its price.",
    },
    "needless_handover": {
        SELECTION: "The request was passed to a colleague although the agent's own tools do it.",
        ENDING: "The conversation ended with a request open that the agent could have fulfilled.",
    },
    "write_for_question": {
        SELECTION: "The customer only asked what would come back; a changing tool was used where a look was enough.",
        ORDER: "The order was cancelled without any request or yes.",
    },
    "sku_before_lookup": {
        ARGUMENTS: "The sku stands in no earlier step; it was made up.",
        ORDER: "The change was tried before the product's variants were looked up.",
    },
    "error_taken_for_success": {
        READING: "The tool reported an error; the customer was told that the change was made.",
        ENDING: "The conversation was closed on a success that never happened.",
    },
}

#: kind -> axis, why it is no fault
NEAR_MISSES: dict[str, tuple[str, str]] = {
    "whole_order_wanted": (SELECTION, "The order has a single line, so cancelling the order is what the wish means."),
    "handover_in_place": (SELECTION, "No tool covers the matter; handing over is what the rules ask for."),
    "both_address_tools": (SELECTION, "The customer wanted both the order and the address book changed."),
    "no_tool_needed": (SELECTION, "The rules themselves answer the question; no tool was needed."),
    "sum_by_tool": (SELECTION, "Adding up with add_up is more than needed but does what it is for."),
    "return_agreed_instead": (
        SELECTION,
        "The wanted refund route is forbidden; the customer chose what the rules allow.",
    ),
    "order_id_from_customer": (ARGUMENTS, "The order number was given by the customer before any tool returned it."),
    "order_id_tidied": (ARGUMENTS, "The customer gave the digits; the agent wrote them in the shop's form."),
    "mended_retry": (
        ARGUMENTS,
        "The first call failed on what the customer had mistyped; the second uses the correction.",
    ),
    "coarse_but_valid": (ARGUMENTS, "The tool was too coarse, but its arguments are real, grounded and well formed."),
    "default_from_record": (
        ARGUMENTS,
        "The customer named no payment method; the agent proposed the one in the order's record.",
    ),
    "method_by_last_figures": (
        ARGUMENTS,
        "The customer gave the last figures of the card; its full number stands in the record.",
    ),
    "postcode_with_space": (ARGUMENTS, "The customer wrote the postcode with a space; the agent passed it without."),
    "email_in_capitals": (
        ARGUMENTS,
        "The customer wrote the address in capitals; the agent passed it in small letters.",
    ),
    "yes_in_advance": (ORDER, "The customer had named every detail and said to go ahead; no second yes was owed."),
    "same_read_twice": (
        ORDER,
        "The same record was read again to see what stands after the change; reading harms nothing.",
    ),
    "same_write_two_items": (ORDER, "The same tool was used twice, for two different lines."),
    "change_of_mind": (
        ORDER,
        "The customer changed the wish after the first question; the agent asked again, then acted.",
    ),
    "second_try_after_error": (ORDER, "The first attempt failed and changed nothing; the second came after a new yes."),
    "sum_of_two": (READING, "The total stands in no result, but it is the sum of two amounts that do."),
    "sum_less_fee": (READING, "The amount stands in no result; it is what the lines cost less the label fee."),
    "difference_of_sums": (READING, "The amount is what the new prices come to, less what was paid for the old lines."),
    "difference_of_two": (READING, "The amount is the difference of two prices in the result."),
    "date_reworded": (READING, "The date is the one in the result, written in words."),
    "amount_rounded": (READING, "The amount is rounded and said to be so."),
    "amount_in_words": (READING, "The amount is the one in the result, written in words."),
    "status_reworded": (READING, "The state is the one in the result, in everyday words."),
    "count_made": (READING, "The number stands nowhere in the result; counting the variants in stock gives it."),
    "days_counted": (READING, "The number of days stands nowhere; it is today less the promised date."),
    "refusal_by_the_rules": (READING, "The customer is unhappy, but the record and the rules leave no other answer."),
    "customer_figure_corrected": (READING, "The wrong figure is the customer's own, quoted in order to correct it."),
    "thanks_then_more": (ENDING, "The customer said thanks and then asked for more; going on was right."),
    "long_goodbye": (ENDING, "Several courtesies at the end, but everything was done and nothing was called."),
    "ends_with_handover": (ENDING, "The run ends in a handover because the matter is outside the agent's tools."),
    "ends_in_refusal": (ENDING, "The run ends with a wish unmet because the rules forbid it."),
    "closing_question": (ENDING, "The last words are an offer of more help; the customer simply left."),
}
